"""The one list of actions: key bindings, footer, help, palette and README's key table are made from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Where = Literal[
    "move",
    "tree",
    "detail",
    "diff",
    "list",
    "operations",
    "sessions",
    "moments",
    "found",
    "file",
    "history",
    "dialog",
    "everywhere",
]


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a key or the palette does."""

    id: str
    """Name of the method `action_<id>` that does it, and what a keymap calls it."""
    keys: str
    """Keys as Textual names them, separated by commas; "" where only the palette offers it."""
    label: str
    """What it does, in one to three words: footer and palette. An ellipsis means that a dialog asks first."""
    text: str
    """What it does, in a line of the help; neighbours with the same text share their line."""
    where: Where
    group: str
    """The line of design's key table to which it belongs."""
    footer: int = 0
    """Place in the footer: the lowest first; 0 keeps it out."""
    palette: bool = True


def _move(name: str, keys: str, text: str) -> Action:
    return Action(name, keys, "", text, "move", "move", palette=False)


def _dialog(name: str, keys: str, text: str) -> Action:
    return Action(name, keys, "", text, "dialog", "dialogs", palette=False)


ACTIONS: tuple[Action, ...] = (
    _move("cursor_down", "j,down", "one row down, up"),
    _move("cursor_up", "k,up", "one row down, up"),
    _move("first", "g,home", "first, last row"),
    _move("last", "G,end", "first, last row"),
    _move("half_down", "ctrl+d", "half a page down, up"),
    _move("half_up", "ctrl+u", "half a page down, up"),
    _move("page_down", "pagedown", "a page down, up"),
    _move("page_up", "pageup", "a page down, up"),
    # The tree
    Action("next_prompt", "J", "Next prompt", "next, previous prompt", "tree", "move"),
    Action("previous_prompt", "K", "Previous prompt", "next, previous prompt", "tree", "move"),
    Action("previous_checkpoint", "[", "Previous checkpoint", "previous, next checkpoint", "tree", "move"),
    Action("next_checkpoint", "]", "Next checkpoint", "previous, next checkpoint", "tree", "move"),
    Action("previous_fork", "(", "Previous fork", "previous, next fork", "tree", "move"),
    Action("next_fork", ")", "Next fork", "previous, next fork", "tree", "move"),
    Action("here", "@", "Here", "where files and talk are now", "tree", "move"),
    Action("go_to", ":", "Go to…", "go to an id, a label or a time", "tree", "move"),
    Action("fold", "h,left", "Fold", "fold, or go out; unfold (a call: its result), or go in", "tree", "fold"),
    Action("unfold", "l,right", "Unfold", "fold, or go out; unfold (a call: its result), or go in", "tree", "fold"),
    Action("fold_all", "H", "Fold all", "fold, unfold all turns and branches", "tree", "fold"),
    Action("unfold_all", "L", "Unfold all", "fold, unfold all turns and branches", "tree", "fold"),
    Action("enter", "enter", "Go in", "unfold, else open the detail", "tree", "fold", footer=1, palette=False),
    Action("diff", "d", "Diff", "what changed here; with a mark: from the mark to this row", "tree", "act", footer=2),
    Action("mark", "space", "Mark", "mark this row as the left side of a diff", "tree", "act", footer=9),
    Action("restore", "r", "Go back…", "go back to this row: files, conversation or both", "tree", "act", footer=3),
    Action("fork", "f", "Fork…", "a new branch from this row", "tree", "act", footer=4),
    Action("undo", "u", "Undo…", "undo, redo what a person did last", "tree", "act", footer=5),
    Action("redo", "U", "Redo…", "undo, redo what a person did last", "tree", "act"),
    Action("checkpoint", "c", "Checkpoint", "save a checkpoint of the files now", "tree", "act", footer=8),
    Action("label", "t", "Label…", "name this row's checkpoint", "tree", "act"),
    Action("pin", "p", "Pin", "keep this row's checkpoint for good (taking a pin away asks)", "tree", "act"),
    Action("copy", "y", "Copy", "copy this row's whole text", "tree", "act"),
    Action("record", "i", "Record…", "show what recording adds, and switch it on", "tree", "act", footer=1),
    Action("resume", "", "Go on…", "go on with this row's branch in its agent", "tree", "act"),
    Action("recover", "", "Recover…", "settle a restore that was interrupted", "tree", "act"),
    Action("compare_now", "", "Diff to now", "what changed from this row to the files as they are", "tree", "act"),
    Action("copy_id", "", "Copy the id", "copy this row's checkpoint or entry id", "tree", "act"),
    Action("filter", "v", "Filter", "show all, prompts, with file changes, labelled, errors", "tree", "see"),
    Action("search", "/", "Search", "search in the tree", "tree", "see", footer=6),
    Action("next_hit", "n", "Next hit", "next, previous hit", "tree", "see"),
    Action("previous_hit", "N", "Previous hit", "next, previous hit", "tree", "see"),
    Action("show_conversation", "1", "Conversation", "detail: conversation, files, facts", "tree", "see"),
    Action("show_files", "2", "Files", "detail: conversation, files, facts", "tree", "see"),
    Action("show_facts", "4", "Facts", "detail: conversation, files, facts", "tree", "see"),
    Action("next_pane", "tab", "Next pane", "next pane", "tree", "see", palette=False),
    Action("clear", "escape", "Clear", "clear the notice, the search, the mark", "tree", "see", palette=False),
    Action("branches", "b", "Branches", "branches", "tree", "see"),
    Action("operations", "o", "Operations", "operations, what can be undone", "tree", "see"),
    Action("sessions", "s", "Sessions", "sessions, everything by time", "tree", "see", footer=7),
    Action("search_all", "S", "Search all", "search everything: all sessions, branches, files", "tree", "see"),
    Action("clock", "T", "Clock times", "clock times or ages", "tree", "see"),
    # The detail
    Action("follow", "enter,l,right", "Open", "open what is folded; a file's history", "detail", "fold", 1, False),
    Action("close_part", "h,left", "Fold", "fold it again, or back to the tree", "detail", "fold", palette=False),
    # The diff
    Action("previous_hunk", "[", "Previous hunk", "previous, next hunk", "diff", "diff"),
    Action("next_hunk", "]", "Next hunk", "previous, next hunk", "diff", "diff", footer=2),
    Action("next_file", "J", "Next file", "next, previous file", "diff", "diff", footer=3),
    Action("previous_file", "K", "Previous file", "next, previous file", "diff", "diff"),
    Action("side_by_side", "s", "Side by side", "side by side or one below the other", "diff", "diff", footer=4),
    Action("wrap", "w", "Wrap", "wrap long lines", "diff", "diff", footer=5),
    Action("space_changes", "W", "White space", "ignore white space", "diff", "diff", footer=9),
    Action("numbers", "#", "Line numbers", "line numbers", "diff", "diff"),
    Action("less_context", "{", "Less context", "less, more lines around a change", "diff", "diff"),
    Action("more_context", "}", "More context", "less, more lines around a change", "diff", "diff"),
    Action("edit", "e", "Editor", "open the file here in $EDITOR", "diff", "diff", footer=7),
    Action("files", "b", "Files", "list of files", "diff", "diff", footer=6),
    Action("restore_file", "r", "Go back…", "go back to the older side", "diff", "diff", footer=8),
    Action("copy_hunk", "y", "Copy", "copy this hunk; at a heading the file's path", "diff", "diff", footer=11),
    Action("diff_search", "/", "Search", "search in the diff", "diff", "diff", footer=10),
    Action("diff_next_hit", "n", "Next hit", "next, previous hit", "diff", "diff"),
    Action("diff_previous_hit", "N", "Previous hit", "next, previous hit", "diff", "diff"),
    Action("slide_left", "left", "To the left", "cut lines: to the left, right", "diff", "diff", palette=False),
    Action("slide_right", "right", "To the right", "cut lines: to the left, right", "diff", "diff", palette=False),
    Action("close", "escape,q", "Back", "back", "diff", "diff", footer=1, palette=False),
    # Lists: sessions, branches, operations, help
    Action("choose", "enter", "Open", "open the row", "list", "lists", footer=1, palette=False),
    Action("list_filter", "/", "Filter", "filter the list", "list", "lists", footer=2),
    Action("leave", "escape,q", "Back", "clear the filter, then back", "list", "lists", footer=3, palette=False),
    # Operations
    Action("undo_here", "u", "Undo…", "undo, redo up to this row", "operations", "act", footer=4),
    Action("redo_here", "U", "Redo…", "undo, redo up to this row", "operations", "act", footer=5),
    # Sessions, and everything by time
    Action("all_folders", "a", "All folders", "sessions of this folder, of all folders", "sessions", "lists", footer=4),
    Action("moment_diff", "d", "Diff", "what changed up to this point", "moments", "lists", footer=4),
    Action("moment_now", "D", "Diff to now", "what changed from this point to now", "moments", "lists", footer=5),
    Action("moment_mark", "space", "Mark", "mark this point as the left side of a diff", "moments", "lists", footer=6),
    Action("moment_copy", "y", "Copy the id", "copy this point's id", "moments", "lists"),
    # Search
    Action("go_there", "enter", "Go there", "go to the row, or to the file as it was", "found", "search", 1, False),
    Action("search_list", "tab", "List", "from the words to the list, and back", "found", "search", 2, False),
    Action("search_words", "/", "Words", "change what is looked for", "found", "search", footer=2),
    Action("search_kinds", "v", "Kinds", "all, prompts, replies, calls, outputs, files", "found", "search", footer=3),
    Action("search_copy", "y", "Copy", "copy the line that was found", "found", "search", footer=4),
    Action("search_back", "escape,q", "Back", "stop looking, then back", "found", "search", 5, False),
    # A file as it was
    Action("file_row", "enter", "Go to its row", "go to the row of its checkpoint", "file", "file", 1, False),
    Action("file_diff", "d", "Diff to now", "what changed from this checkpoint to now", "file", "file", footer=2),
    Action("file_copy", "y", "Copy", "copy this line", "file", "file", footer=3),
    Action("file_back", "escape,q", "Back", "back", "file", "file", 4, False),
    # A file's history
    Action("to_diff", "enter", "Diff", "what changed then", "history", "lists", footer=1, palette=False),
    Action("since_then", "d", "Diff to now", "what changed from then to now", "history", "lists", footer=2),
    Action("in_tree", "@", "In the tree", "the row of the tree where it happened", "history", "lists", footer=3),
    Action("back", "escape,q", "Back", "back to the list, then back", "history", "lists", footer=4, palette=False),
    # Dialogs
    _dialog("scope_files", "f", "what goes back: files, conversation or both"),
    _dialog("scope_conversation", "c", "what goes back: files, conversation or both"),
    _dialog("scope_both", "b", "what goes back: files, conversation or both"),
    _dialog("dialog_diff", "d", "diff: the files now and as they would be"),
    _dialog("cancel", "escape", "leave without doing it"),
    _dialog("confirm", "ctrl+s", "do it"),
    # Everywhere
    Action("help", "?,f1", "Help", "the keys that work here", "everywhere", "see", footer=20),
    Action("palette", "ctrl+p", "Palette", "every action by its name", "everywhere", "see", palette=False),
    Action("quit_app", "q", "Quit", "leave; nothing is unsaved", "tree", "see", footer=21),
    Action("theme", "", "Colours…", "choose the colours", "everywhere", "see"),
)

BY_ID = {action.id: action for action in ACTIONS}

KEY_NAMES = {
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "home": "Home",
    "end": "End",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "enter": "Enter",
    "escape": "esc",
    "space": "space",
    "comma": ",",
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}

PLACES: dict[Where, str] = {
    "move": "every list and pane",
    "tree": "tree",
    "detail": "detail",
    "diff": "diff",
    "list": "lists",
    "operations": "operations",
    "sessions": "sessions",
    "moments": "everything, by time",
    "found": "search",
    "file": "a file as it was",
    "history": "file's history",
    "dialog": "dialogs",
    "everywhere": "everywhere",
}


def actions_of(*places: Where) -> tuple[Action, ...]:
    """The actions of these places, in the list's order."""
    return tuple(action for action in ACTIONS if action.where in places)


def key_names(action: Action) -> list[str]:
    """The keys of an action as people write them."""
    return [KEY_NAMES.get(key, key) for key in action.keys.split(",") if key]


def help_lines(actions: Iterable[Action]) -> list[tuple[str, str]]:
    """Keys and what they do, one line for neighbours that say the same."""
    lines: list[tuple[list[str], str]] = []
    for action in actions:
        keys = key_names(action)
        if not keys:
            continue
        if lines and lines[-1][1] == action.text:
            lines[-1][0].extend(keys)
        else:
            lines.append((keys, action.text))
    return [(" ".join(keys), text) for keys, text in lines]


def key_table() -> str:
    """README's table of keys, in Markdown."""
    rows = ["| where | keys | |", "|---|---|---|"]
    for place, name in PLACES.items():
        for keys, text in help_lines(actions_of(place)):
            shown = " ".join(f"`{key}`" for key in keys.split(" "))
            rows.append(f"| {name} | {shown} | {text} |")
            name = ""
    return "\n".join(rows) + "\n"
