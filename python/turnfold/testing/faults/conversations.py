"""A conversation as its client has it, and what must hold of each of its transcripts."""

from dataclasses import dataclass, field
from random import Random

import msgspec

from turnfold import checks
from turnfold.model.state import NO_STATE, PlanState
from turnfold.objects import Message
from turnfold.planning.wrapper import recognise
from turnfold.testing.faults.held import held
from turnfold.testing.faults.scripts import PROSE
from turnfold.transcript import Transcript


@dataclass(slots=True)
class Conversation:
    """All that was said, and the transcript that the client goes on with: some of it may stand in a summary there.

    `begun` are the transcripts that a compaction was begun with, `states` what the store may hold.
    """

    name: str
    messages: list[Message]
    now: Transcript
    begun: list[Transcript] = field(default_factory=list)
    states: list[PlanState] = field(default_factory=lambda: [NO_STATE])
    said: int = 0

    @classmethod
    def begun_by(cls, name: str, chance: Random) -> "Conversation":
        """Begin with a few turns."""
        nothing = Transcript.from_messages([], format="openai.chat")
        one = cls(name, [{"role": "system", "content": "You are careful."}], nothing)
        for _ in range(chance.randint(1, 5)):
            one.messages.extend(one.turn(chance))
        one.now = one.whole
        return one

    @property
    def whole(self) -> Transcript:
        """Everything, as a client sends it that keeps no summary."""
        return Transcript.from_messages(self.messages, format="openai.chat")

    def turn(self, chance: Random) -> list[Message]:
        """Return what the next turn says, which nothing else says."""
        self.said += 1
        asked = f"Question {self.said} of {self.name} about src/a{self.said}.py. "
        messages: list[Message] = [{"role": "user", "content": asked + chance.choice(PROSE) * chance.randint(3, 20)}]
        answer = f"Answer {self.said}. {chance.choice(PROSE) * 9}"
        if chance.random() < 0.3:
            call = {"id": f"call_{self.said}", "type": "function", "function": {"name": "run", "arguments": "{}"}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"call_{self.said}", "content": answer})
        messages.append({"role": "assistant", "content": answer})
        return messages

    def goes_on(self, chance: Random) -> None:
        """Append a turn."""
        for message in self.turn(chance):
            self.messages.append(message)
            self.now = self.now.append(message)

    def is_edited(self, chance: Random) -> None:
        """Say something else where an early message of the user still stands."""
        places = [index for index, message in enumerate(self.messages) if message["role"] == "user"]
        place = chance.choice(places)
        before = msgspec.json.encode(self.messages[place])
        edited: Message = {"role": "user", "content": f"Edited {self.said}. {PROSE[0] * 4}"}
        kept = self.now.messages
        if [msgspec.json.encode(message) for message in kept].count(before) == 1:
            self.messages[place] = edited
            changed = [edited if msgspec.json.encode(message) == before else message for message in kept]
            self.now = Transcript.from_messages(changed, format="openai.chat")


def accounted_for(whole: Transcript, now: Transcript, what: str) -> None:
    """Check that every message of `whole` is in `now`, once and in its place, or counted by a summary in its place."""
    held(checks.scan(now).ok, f"{what} is valid")
    at = 0
    for index in range(len(now)):
        message = now.message_json(index)
        if at < len(whole) and message == whole.message_json(at):
            at += 1
            continue
        summary = recognise("\n".join(block.text for block in now.blocks(index)))
        held(summary is not None, f"{what}: message {index} is neither message {at} of the whole nor a summary")
        at += 0 if summary is None else summary.messages
    held(at == len(whole), f"{what}: {at} of {len(whole)} messages are accounted for")
