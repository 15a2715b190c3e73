"""Results of tau-bench, and the sample of them that Docent ships."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from turnfold.containers.document import list_of, object_of, text_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark


class TauBench(Listed):
    """A list of episodes `{"task_id", "trial", "reward", "info", "traj": [messages]}`, one such object, or one a line.

    The view is `openai.chat`, made of the messages' own bytes. Ids of calls repeat within an episode: a result answers
    the nearest earlier call of its id. An episode's id is `<task_id>/<trial>`.

    tau-bench keeps no compactions: the summary takes the place of the messages.
    """

    name: ClassVar[str] = "tau_bench"
    title: ClassVar[str] = "tau-bench results: episodes with `task_id` and `traj`, a list of messages."

    def mark(self, value: object) -> Mark | None:
        """See an episode with `task_id` whose `traj` holds a message."""
        for number, episode in enumerate(value[:8] if isinstance(value, list) else [value]):
            messages = list_of(episode, "traj")
            if "task_id" in object_of(episode) and any(text_of(message, "role") for message in messages[:8]):
                place = f"[{number}]" if isinstance(value, list) else "the document"
                return Mark("proof", f"{place} has task_id, and messages in traj")
        return None

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find `traj` in each episode."""
        episodes = [((k,), episode) for k, episode in enumerate(value)] if isinstance(value, list) else [((), value)]
        for path, episode in episodes:
            if isinstance(episode, Mapping) and isinstance(episode.get("traj"), list):
                names = [str(episode[key]) for key in ("task_id", "trial") if isinstance(episode.get(key), int | str)]
                yield Conversation((*path, "traj"), "/".join(names) or None)


TAU_BENCH: Final = TauBench()
