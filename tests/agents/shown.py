"""What forkpoint shows of a session of a real agent, and what the model was told: the same questions for all agents."""

from __future__ import annotations

from tests.lab.real_agent import RealAgent
from tests.lab.stub_llm import Act, Json


def texts(log: Json, kind: str = "prompt") -> list[str]:
    return [entry["text"] for entry in log["entries"] if entry["kind"] == kind]


def every_checkpoint(log: Json, reason: str) -> list[tuple[str, Json]]:
    """Checkpoints of a reason, each behind the text of the entry that it is bound to."""
    entries = {entry["id"]: entry["text"] for entry in log["entries"]}
    return [
        (entries[point["entry"]], point)
        for point in log["checkpoints"]
        if point["reason"] == reason and point["entry"] in entries
    ]


def checkpoints(log: Json, reason: str) -> dict[str, Json]:
    """The last checkpoint of a reason by each text."""
    return dict(every_checkpoint(log, reason))


def before_prompt(agent: RealAgent, text: str) -> str:
    """The checkpoint before a prompt; "" while there is none."""
    point = checkpoints(agent.forkpoint("log"), "prompt").get(text)
    return point["id"] if point else ""


def paths(inventory: Json, kind: str) -> set[str]:
    return {change["path"] for change in inventory[kind]}


def restored(agent: RealAgent, point: str) -> Json | None:
    """The inventory of a restore of files, or None while it is refused."""
    try:
        return agent.forkpoint("restore", point, "--files", "--yes")
    except AssertionError:
        return None


def is_forked(log: Json, *, left: str, instead: str) -> None:
    """Asserts that a prompt stands beside one that was left, each with its checkpoints on a branch of its own."""
    parents = {entry["text"]: entry["parent"] for entry in log["entries"] if entry["kind"] == "prompt"}
    assert parents[left] == parents[instead]
    assert sorted(branch["state"] for branch in log["branches"]) == ["active", "left"]
    active = next(branch["name"] for branch in log["branches"] if branch["state"] == "active")
    points = checkpoints(log, "prompt")
    assert points[instead]["branch"] == active
    assert points[left]["branch"] != active


def scripted(agent: RealAgent, *prompts: str) -> list[Act]:
    """What the model is to be told when the last of these prompts is sent: those before it, with their whole turns."""
    expected: list[Act] = []
    for prompt in prompts[:-1]:
        expected.append(Act("user", prompt))
        word = next(word for word in prompt.split() if word in agent.stub.script)
        for step in agent.stub.script[word]:
            expected.append(Act("assistant", step.text))
            expected += [Act("call", tool.name) for tool in step.tools] + [Act("result", "")] * len(step.tools)
    return [*expected, Act("user", prompts[-1])]


def without_details(told: list[Act]) -> list[Act]:
    return [act._replace(detail="") for act in told]
