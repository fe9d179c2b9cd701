"""The sessions of every agent, here or in all folders, with their forks; the first row shows everything by time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding
from textual.geometry import Size
from textual.message import Message

from ...store.errors import ForkpointError
from ...store.model import Branch, Located, Overview
from ..actions import Where
from ..widgets.bars import Bar
from ..widgets.lines import Lines, bindings
from ..widgets.listing import Column, Item
from ..widgets.sheet import Paragraph, Sheet, text
from ..words import agent, count, long_age, one_line, size
from .headline import home_relative
from .lists import ListScreen

if TYPE_CHECKING:
    from ...store.api import Store

EVERYTHING = "everything"
READ = 256 << 20
"""Bytes of sessions that are read for what a list cannot tell otherwise, the newest first."""
REST = 0.3
"""Seconds that the cursor must rest on a session before it is read."""
PAUSE = 0.005
"""Seconds between two sessions that are read, which the screen has for itself."""
SHOWN = 6
"""Forks that stand below their session; the others are counted."""
Key = tuple[str, str]
"""Root and session."""


class Asked(Message):
    """Which agent is asked for its sessions now."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class SessionsScreen(ListScreen):
    """Answers with the session that was chosen, and a row in it."""

    HEADING = "Sessions"
    EMPTY = "No agent has worked in this folder yet."
    STRIP = True
    PLACES: ClassVar[tuple[Where, ...]] = ("list", "sessions")
    BINDINGS: ClassVar[list[Binding]] = bindings("sessions")  # type: ignore[assignment]
    COLUMNS: ClassVar = (
        Column("", ink="here"),
        Column("Title", grows=True),
        Column("Last prompt", grows=True, least=120, ink="muted"),
        Column("Agent", ink="muted", least=50),
        Column("Used", ink="muted"),
        Column("Branches", right=True, ink="muted", least=100),
        Column("Size", right=True, ink="muted", least=60),
        Column("Problem", ink="attention", least=80, grows=True),
    )

    def __init__(self, current: str, *, everywhere: bool = False) -> None:
        super().__init__()
        self.current = current
        self.everywhere = everywhere
        """Whether those of all folders are shown."""
        self.located: list[Located] = []
        self.told: dict[Key, Overview] = {}
        """What was read of them."""
        self._reading = ""
        self._rows: dict[Key, list[Item]] = {}
        """What stands in the list for each of them; made anew when something was read."""
        self._opened: dict[str, Store] = {}
        """Other folders' stores, by their roots."""

    @property
    def about(self) -> str:
        return "all folders" if self.everywhere else home_relative(self.app.store.root)

    def show_header(self) -> None:
        super().show_header()
        if self._reading:
            bar = self.query_one("#header", Bar)
            bar.show(bar.left, [*bar.right, (f"  {self._reading}", "muted")])

    # Reading

    @work(exclusive=True, group="read")
    async def load(self) -> None:
        """Lists them at once; what only reading them tells comes later."""
        everywhere = self.everywhere

        def of_this_folder(store: Store) -> list[Located]:
            infos = store.sessions()
            self.told |= {(store.root, key): found for key, found in store.overviews(infos).items()}
            return self._laid_out([Located(store.root, info) for info in infos])

        def asked(name: str) -> None:
            self.post_message(Asked(name))

        def of_all(store: Store | None) -> list[Located]:
            from ...store import api

            return self._laid_out(api.everywhere(home=store.home if store is not None else None, progress=asked))

        try:
            self.located = await self.ask(of_all if everywhere else of_this_folder)
        except ForkpointError as error:
            self.failed(error)
            return
        self._reading = ""
        self.show_sessions(at=self._key_of_current())
        self.read_rest()

    def _laid_out(self, located: list[Located]) -> list[Located]:
        """Makes the rows of the list; not on the thread of the screen, for there may be thousands."""
        self._rows = {_key(item): self._items(item) for item in located}
        return located

    def on_asked(self, message: Asked) -> None:
        self._reading = f"asking {agent(message.name)}"
        self.show_header()

    @work(exclusive=True, group="rest")
    async def read_rest(self) -> None:
        """Reads what is not known yet, the newest first; the rows are filled as it comes."""
        left, shown = READ, asyncio.get_running_loop().time()
        wanted = [item for item in self.located if _key(item) not in self.told]
        for number, item in enumerate(wanted):
            left -= item.info.bytes
            if left < 0:
                break
            self._reading = f"reading {number + 1:,} of {len(wanted):,}"
            if not number:
                self.show_header()
            await self._read(item)
            await asyncio.sleep(PAUSE)
            if (now := asyncio.get_running_loop().time()) - shown > REST:
                shown = now
                self.show_sessions()
        self._reading = ""
        self.show_sessions()

    async def _read(self, item: Located) -> None:
        key = _key(item)

        def read(store: Store | None) -> Overview:
            if store is None or item.root != store.root:
                store = self._other(item.root)
                known = store.overviews([item.info])
                if known:
                    return known[item.info.key]
            return store.overview(item.info)

        try:
            self.told[key] = await self.ask(read)
        except ForkpointError as error:
            self.told[key] = Overview(0, 0, "", 0, (), one_line(error.what))
        self._rows.pop(key, None)

    def _other(self, root: str) -> Store:
        if root not in self._opened:
            from ...store.api import Store

            self._opened[root] = Store.open(root)
        return self._opened[root]

    @work(exclusive=True, group="look")
    async def look(self) -> None:
        """Reads the session under the cursor, once it rests there."""
        item = self._under_cursor()
        self.show_strip()
        if item is None or _key(item) in self.told:
            return
        await asyncio.sleep(REST)
        await self._read(item)
        self.show_sessions()

    # Showing

    def show_sessions(self, *, at: str = "") -> None:
        """Lists what is known now."""
        items: list[Item] = []
        if self.located and self.app.is_open:
            cells = ("", "Everything, by time", "", "", "", "", "", "")
            items.append(Item(EVERYTHING, cells, ("", "strong"), counts=False))
        folders: dict[str, list[Located]] = {}
        for item in self.located:
            folders.setdefault(item.root, []).append(item)
        for folder, those in folders.items():
            if self.everywhere:
                told = (home_relative(folder), count(len(those), "session"))
                items.append(Item(f"folder {folder}", told, heading=True))
            for item in those:
                if _key(item) not in self._rows:
                    self._rows[_key(item)] = self._items(item)
                items += self._rows[_key(item)]
        self.filled(items, at=at)
        self.show_strip()

    def _items(self, item: Located) -> list[Item]:
        """A session's row, and those of its forks."""
        info, told = item.info, self.told.get(_key(item))
        signs, now = self.app.signs, self.app.now()
        here = info.key == self.current and self._is_here(item)
        mark = signs.here if here else signs.checkpoint if info.live else ""
        problem = info.problem or (told.problem if told else "")
        last = told.last if told else ""
        titles = [branch.title for branch in told.shown] if told else []
        about = " ".join((*info.ids, home_relative(item.root), last, *titles))
        title = one_line(info.title) or "Untitled"
        cells = (
            mark,
            title,
            one_line(last) if one_line(last) != title else "",
            agent(info.agent),
            long_age(info.updated, now) if info.updated else "",
            str(told.branches) if told and told.branches > 1 else "",
            size(info.bytes) if info.bytes else "",
            f"! {one_line(problem)}" if problem else "",
        )
        name = "\n".join(_key(item))
        rows = [Item(name, cells, ("", "strong" if here else ""), about=about)]
        if told and told.branches > 1:
            forks = told.shown[1:]
            rows += [self._fork(name, branch, about) for branch in forks[:SHOWN]]
            if (more := told.branches - 1 - SHOWN) > 0:
                told_more = ("", f"   {signs.branch} {more:,} more", "", "", "", "", "", "")
                rows.append(Item(f"{name}\nmore", told_more, ("", "faint"), about=about, counts=False))
        return rows

    def _fork(self, session: str, branch: Branch, about: str) -> Item:
        signs, now = self.app.signs, self.app.now()
        state = "" if branch.state == "left" else f"  {branch.state}"
        title = one_line(branch.title)
        cells = (
            "",
            f"   {signs.branch} {one_line(branch.name)}{state}",
            title,
            "",
            long_age(branch.updated, now) if branch.updated else "",
            "",
            "",
            "",
        )
        return Item(f"{session}\n{branch.head}", cells, ("", "muted"), about=f"{about} {title}", counts=False)

    def show_strip(self) -> None:
        """What is known of the session under the cursor."""
        item = self._under_cursor()
        self.query_one("#strip", Sheet).show(self._told_of(item) if item is not None else [])

    def _told_of(self, item: Located) -> list[Paragraph]:
        info, told = item.info, self.told.get(_key(item))
        dot = f" {self.app.signs.dot} "
        facts = [
            count(told.prompts, "prompt") if told else "",
            count(told.entries, "entry", "entries") if told else "",
            count(told.branches, "branch", "branches") if told and told.branches > 1 else "",
            agent(info.agent),
            "at work now" if info.live else "",
            info.id[:8],
            home_relative(info.cwd or item.root),
        ]
        problem = info.problem or (told.problem if told else "")
        last = (
            [Paragraph((("last: ", "muted"), (one_line(told.last), "said")), wrap=False)] if told and told.last else []
        )
        return [
            text(one_line(info.title) or "Untitled", "strong", wrap=False),
            text(dot.join(fact for fact in facts if fact), "muted", wrap=False),
            *([text(f"! {one_line(problem)}", "attention", wrap=False)] if problem else last),
        ]

    def _under_cursor(self) -> Located | None:
        root, _, rest = (self.list.item.key if self.list.item else "").partition("\n")
        key = rest.partition("\n")[0]
        return next((item for item in self.located if (item.root, item.info.key) == (root, key)), None)

    def _is_here(self, item: Located) -> bool:
        return self.app.is_open and item.root == self.app.store.root

    def _key_of_current(self) -> str:
        here = (item for item in self.located if item.info.key == self.current and self._is_here(item))
        return next(("\n".join(_key(item)) for item in here), "")

    def on_lines_moved(self, message: Lines.Moved) -> None:
        if message.lines is self.list:
            self.look()

    def resized(self, size: Size) -> None:
        super().resized(size)
        self.show_strip()

    # Keys

    def action_leave(self) -> None:
        if not self.app.is_open and not self.list.needle and not self.notice.has_class("-on"):
            self.app.exit()
        else:
            super().action_leave()

    def action_all_folders(self) -> None:
        self.everywhere = not self.everywhere or not self.app.is_open
        self.show_header()
        self.load()

    def opened(self, item: Item) -> None:
        if item.key == EVERYTHING:
            from .everything import EverythingScreen

            self.open(EverythingScreen(), self._chosen)
            return
        root, session, head = (*item.key.split("\n"), "")[:3]
        self._chosen((session, "" if head == "more" else head, root))

    def _chosen(self, place: tuple[str, str, str] | None) -> None:
        """Goes to a row of a session, in another folder's tree where it is there."""
        if place is None:
            return
        session, name, root = place
        if self.app.is_open and root == self.app.store.root:
            self.leave((session, name))
        else:
            self.notice.say(f"Opening {home_relative(root)} …")
            self.app.open_workspace(root, session, name)


def _key(item: Located) -> Key:
    return item.root, item.info.key
