"""Sessions of assistants in the harbour: a night's log, berth sensors, the office desk in several languages."""

import json
import math
from datetime import date, datetime, timedelta

import play
from play import listing, read, session, shell

WATCH = """\
You help the night watch to read the gate's log. You may run shell commands in the log's folder. Quote lines with their
times, keep to what the log says, and say so when it does not say."""

DESK = """\
You are the assistant of a small harbour's office. Answer in the language of the visitor. Look things up with the tools
before you promise anything; book only after the visitor has agreed to berth, nights and price. Depths are metres over
chart datum, prices are euro with tax."""

DESK_TOOLS = {
    "find_boat": ("Look a boat up by name.", {"name": "string"}, ["name"]),
    "free_berths": (
        "Berths that fit a boat and are free.",
        {"boat": "string", "arrives": "string", "leaves": "string"},
        ["boat", "arrives", "leaves"],
    ),
    "price_stay": (
        "Net and gross price of a stay.",
        {"boat": "string", "berth": "string", "arrives": "string", "leaves": "string"},
        ["boat", "berth", "arrives", "leaves"],
    ),
    "tide_at": ("Height of the tide.", {"moment": "string"}, ["moment"]),
    "book": (
        "Book a berth.",
        {"boat": "string", "berth": "string", "arrives": "string", "leaves": "string"},
        ["boat", "berth", "arrives", "leaves"],
    ),
}


def night_of_the_gate() -> list[dict]:
    """Three questions about one night, each a transcript."""
    return [_why_so_long(), _west_sensor(), _handover()]


def _why_so_long() -> dict:
    with session("gatehouse", WATCH) as s:
        s.user("The gate took long to close last night. Why, and was it by the rules?")
        s.agent("", listing(), read("rules.txt"))
        s.agent(
            "I'll take the gate and the motor from the log.",
            shell("grep -E ' (gate|motor) ' gate.log"),
            shell("wc -l gate.log; head -3 gate.log; tail -3 gate.log"),
        )
        s.agent(
            "The motor was stopped twice before it ran through. I check the currents against rule 2, and the time between stop and restart.",
            shell("grep -n 'motor' gate.log"),
            shell("grep -c 'stopped (3/3)' gate.log"),
        )
        s.agent(
            "It took from 20:44:12 (`close requested, level=4.83`) to 20:48:38 (`closed`), four minutes and 26 seconds. The motor was stopped at 20:44:33 with 33.4 A and at 20:46:24 with 34.3 A, both for 21 s over the limit of 31.0 A; the restart at 20:47:54 drew 28.2 A and came 90 s after the second stop. That is by rule 2: two stops are allowed within the hour, the engineer is called after the third, and there was none."
        )
        s.user("And the first restart, was that 90 s after the stop as well?")
        s.agent("", shell("sed -n '/20:44:1/,/20:48:4/p' gate.log"))
        s.agent(
            "The log does not say. Between the stop at 20:44:33 and the second stop at 20:46:24 there are 111 s and no line for the restart; with 21 s of high current before the second stop the motor must have run again from 20:46:03 at the latest, which is 90 s after the first stop. So it fits the rule, but only by that reckoning."
        )
        s.user("How did the levels stand when the watch tried to override?")
        s.agent("", shell("grep -n -B6 -A4 'override' gate.log"))
        s.agent(
            "At 22:22:05 panel 2 asked for an override by `watch-3`; it was refused with the outer level at 5.40 m over 3.80 m inside. Rule 4 forbids it while the outer level is above the inner one."
        )
        s.user("Who is watch-3?")
        return play.anthropic_body(s, "claude-opus-4-1-20250805")


def _west_sensor() -> dict:
    with session("gatehouse", WATCH) as s:
        s.user("Look at the west level sensor. When was it stuck, and did the gate use the other one in time?")
        s.agent(
            "",
            shell(
                "grep 'west=4.37' gate.log | head -4; echo ...; grep 'west=4.37' gate.log | tail -2; grep -c 'west=4.37' gate.log"
            ),
            shell("grep -n 'sensor west' gate.log"),
        )
        s.agent(
            "56 readings in a row are 4.37. I need the readings around both ends, and what `used` says in between.",
            shell("sed -n '/T22:4[4-9]/,/T23:1/p' gate.log"),
            shell("sed -n '/T02:3/,/T02:5/p' gate.log"),
        )
        s.agent(
            "The first reading of 4.37 is from 22:56:07; the fallback came at 23:06:08, ten minutes later, when the east sensor had moved by 0.16 m. That is rule 3 to the letter.",
            shell(
                'awk \'/ level INFO/ {split($4,e,"="); split($5,w,"="); d=e[2]-w[2]; if (d<0) d=-d; if (d>m) {m=d; l=$0}} END {print m; print l}\' gate.log'
            ),
        )
        s.agent(
            "",
            shell("grep ' level INFO' gate.log | awk '{print $7}' | sort | uniq -c"),
            shell("grep -n 'used=east' gate.log | sed -n '1p;$p'"),
        )
        s.agent(
            "The west sensor stood at 4.37 m from 22:56 until the line `sensor west moves again: back to mean`; from the fallback on, every reading says `used=east`. In the ten minutes before, the gate still followed the mean, which was off by at most half of the difference."
        )
        s.user("What would the gate have done with the mean instead of the east sensor?")
        s.agent(
            "I'll compute the mean for each reading of the fallback and look for the first below 4.60 m.",
            shell(
                "grep 'used=east' gate.log | awk '{split($4,e,\"=\"); split($5,w,\"=\"); m=(e[2]+w[2])/2; print $1, m}' | awk '$2<4.6 {print; exit}'"
            ),
            shell("grep 'open requested' gate.log"),
        )
        s.agent(
            "With the mean it would have opened after the reading of 23:48:07 (4.585 m), fourteen minutes before 00:02:12: the stuck sensor read lower than the east one until then."
        )
        s.user("Is there any other line at the same time?")
        s.agent("", shell("sed -n '/T23:4/,/T00:0[0-4]/p' gate.log"))
        s.agent(
            "Yes: the office link failed at 23:42:41, 23:44:41, 23:48:41 and 23:54:41, with one good heartbeat at 23:50:31 in between. The log does not connect the two."
        )
        s.user("Write that down for the engineer in five lines.")
        return play.anthropic_body(s, "claude-opus-4-1-20250805")


def _handover() -> dict:
    with session("gatehouse", WATCH) as s:
        s.user(
            "Write the handover for the morning: everything above INFO, then the gate's movements, then counts by source."
        )
        s.agent(
            "",
            shell("grep -E ' (WARN|ERROR) ' gate.log"),
            shell("grep ' gate ' gate.log"),
            shell("awk '{print $2, $3}' gate.log | sort | uniq -c"),
        )
        s.agent(
            "Above INFO there are eight lines: two motor stops, one refused override, one sensor fallback and four failed heartbeats, and nothing after midnight. The gate closed at 20:48:38 and opened at 00:02:49.",
            read("rules.txt"),
        )
        s.agent(
            "Handover, night of 28 July\n\n- Gate closed 20:48:38 after two motor stops (33.4 A, 34.3 A; rule 2, no call needed). Opened 00:02:49 at 4.60 m.\n- Override at panel 2 by watch-3 at 22:22:05, refused (rule 4).\n- West sensor stuck at 4.37 m from 22:56; fallback to east 23:06:08 (rule 3).\n- Office link lost between 23:42:41 and 23:54:41, four heartbeats."
        )
        s.user("Add the lamp hours.")
        s.agent("", shell("grep lamp gate.log | sed -n '1p;$p'"))
        s.agent("- Leading light on all night, lamp hours 11830 to 11843.")
        s.user("Fine. Send it.")
        return play.anthropic_body(s, "claude-opus-4-1-20250805")


def berth_survey() -> dict:
    """Large JSON results: depth soundings of every berth, and sums made from them."""
    tools = {
        "list_berths": ("All berths of the harbour.", {}, []),
        "get_soundings": ("Soundings of one berth, newest last.", {"berth": "string", "limit": "integer"}, ["berth"]),
        "compute": (
            "Evaluate an expression over the soundings fetched so far.",
            {"expression": "string"},
            ["expression"],
        ),
    }
    with session(
        "quayside",
        "You survey the berths of a harbour. Fetch the soundings, compare them with the chart, and name every berth that has lost more than 0.15 m since the last dredging.",
    ) as s:
        s.user(
            "Which berths have silted up since March, and by how much? Give me the list for the dredger, with the numbers that it rests on."
        )
        berths = _berths()
        s.record(
            "I'll fetch the berths first.",
            "list_berths",
            {},
            json.dumps({"berths": berths, "datum": "chart", "dredged": "2026-03-14"}, ensure_ascii=False),
        )
        losses = []
        for berth in berths:
            rows = _soundings(berth)
            loss = rows[0]["depth"] - rows[-1]["depth"]
            losses.append((berth["code"], loss, rows))
            s.record(
                f"{berth['code']}, charted {berth['depth']:.2f} m.",
                "get_soundings",
                {"berth": berth["code"], "limit": 40},
                json.dumps({"berth": berth["code"], "unit": "m", "soundings": rows}, separators=(",", ":")),
            )
            s.record(
                "",
                "compute",
                {"expression": f"mean(depth[{berth['code']}][-5:]) - mean(depth[{berth['code']}][:5])"},
                json.dumps({"value": round(_mean(rows[-5:]) - _mean(rows[:5]), 4), "points": len(rows), "unit": "m"}),
            )
        worst = sorted(((code, loss) for code, loss, _ in losses if loss > 0.15), key=lambda x: -x[1])
        listed = "\n".join(f"- {code}: {loss:.2f} m" for code, loss in worst)
        s.agent(
            f"{len(worst)} of {len(berths)} berths have lost more than 0.15 m since 14 March:\n{listed}\n\nThe others are within the error of the sounder (0.05 m)."
        )
        s.user("Which of them dry out at a tide of 0.7 m for a boat that draws 2.0 m?")
        code, _, rows = max(losses, key=lambda x: x[1])
        shallow = [c for c, _, r in losses if r[-1]["depth"] + 0.7 < 2.0 + 0.3]
        s.record(
            "I take the newest depth of each, with 0.3 m under the keel.",
            "compute",
            {"expression": "[b for b in berths if last(depth[b]) + 0.7 < 2.0 + 0.3]"},
            json.dumps({"value": shallow, "unit": None}),
        )
        s.record(
            f"And the worst one, {code}, in detail.",
            "get_soundings",
            {"berth": code, "limit": 10},
            json.dumps({"berth": code, "unit": "m", "soundings": rows[-10:]}, indent=1),
        )
        s.agent(
            f"{', '.join(shallow)}. Of all berths {code} has lost most: it stands at {rows[-1]['depth']:.2f} m now, from {rows[0]['depth']:.2f} m in March."
        )
        s.user("Draft the order for the dredger.")
        return play.anthropic_body(s, "claude-sonnet-4-5-20250929", tools)


def _berths() -> list[dict]:
    return [
        {
            "code": f"{pier}{k}",
            "depth": round(1.2 + 0.35 * k + 0.1 * "ABC".index(pier), 2),
            "length": 8 + 2 * k,
            "power": (k + "ABC".index(pier)) % 3 != 0,
        }
        for pier in "ABC"
        for k in range(1, 7)
    ]


def _soundings(berth: dict) -> list[dict]:
    seed = sum(map(ord, berth["code"]))
    rate = (seed % 7) * 0.0011
    first = datetime(2026, 3, 16, 9, 0)
    return [
        {
            "at": (first + timedelta(days=3 * k, minutes=(seed * k) % 47)).isoformat(timespec="minutes"),
            "depth": round(berth["depth"] - rate * 3 * k + 0.02 * math.sin(seed + k), 3),
            "sounder": f"es-{seed % 3 + 1}",
            "quality": round(0.97 - (seed * k % 11) / 100, 2),
        }
        for k in range(40)
    ]


def _mean(rows: list[dict]) -> float:
    return sum(r["depth"] for r in rows) / len(rows)


class Office:
    """The desk's tools, over the same bookings as the coding sessions."""

    boats = {
        "Seeschwalbe": (8.2, 2.7, 1.3),
        "Nordlicht": (9.4, 3.1, 1.6),
        "海風": (11.0, 3.4, 1.9),
        "Ørn": (7.1, 2.4, 1.1),
        "Mère l'Oye": (12.6, 3.9, 2.0),
        "조용한 파도": (8.8, 2.9, 1.4),
        "晨星": (10.2, 3.3, 1.7),
        "Święty Mikołaj": (9.9, 3.2, 1.5),
    }
    berths = {
        "A1": (10, 3.6, -0.5),
        "A2": (12, 4.2, -0.5),
        "A3": (12, 4.2, -0.2),
        "B1": (8, 3.2, 0.4),
        "B2": (14, 4.8, 0.1),
        "C1": (10, 3.6, 0.8),
        "C2": (11, 4.0, 0.6),
    }

    def __init__(self) -> None:
        self.stays = [
            ("A1", "2026-07-25", "2026-07-28"),
            ("A2", "2026-07-26", "2026-08-02"),
            ("B2", "2026-07-28", "2026-08-04"),
        ]

    def find_boat(self, name: str) -> dict:
        if name not in self.boats:
            return {"found": False, "name": name, "similar": sorted(b for b in self.boats if b[:1] == name[:1])}
        length, beam, draught = self.boats[name]
        return {"found": True, "name": name, "length": length, "beam": beam, "draught": draught}

    def free_berths(self, boat: str, arrives: str, leaves: str) -> dict:
        length, beam, draught = self.boats[boat]
        taken = {b for b, a, e in self.stays if a < leaves and arrives < e}
        free = [
            c for c, (long, wide, _) in self.berths.items() if long >= length and wide >= beam + 0.5 and c not in taken
        ]
        return {
            "free": [
                {
                    "code": c,
                    "length": self.berths[c][0],
                    "dries": self.berths[c][2],
                    "floats_from": round(self.berths[c][2] + draught + 0.3, 2),
                }
                for c in free
            ],
            "taken": sorted(taken),
        }

    def price_stay(self, boat: str, berth: str, arrives: str, leaves: str) -> dict:
        nights = (date.fromisoformat(leaves) - date.fromisoformat(arrives)).days
        net = nights * 2.15 * 1.25 * self.boats[boat][0] * (0.9 if nights >= 7 else 1)
        return {"nights": nights, "net": f"{net:.2f}", "gross": f"{net * 1.19:.2f}", "currency": "EUR"}

    def tide_at(self, moment: str) -> dict:
        hours = (datetime.fromisoformat(moment) - datetime(2026, 7, 28, 3, 14)).total_seconds() / 3600
        return {"moment": moment, "height": round(3.1 + 2.2 * math.cos(2 * math.pi * hours / 12.42), 2), "unit": "m"}

    def book(self, boat: str, berth: str, arrives: str, leaves: str) -> dict:
        self.stays.append((berth, arrives, leaves))
        return {
            "booked": True,
            "number": f"2026-{len(self.stays):04}",
            "boat": boat,
            "berth": berth,
            "arrives": arrives,
            "leaves": leaves,
        }


class Desk:
    """One conversation at the desk."""

    def __init__(self, s: play.Session) -> None:
        self.s, self.office = s, Office()

    def ask(self, text: str) -> None:
        self.s.user(text)

    def look(self, text: str, tool: str, **arguments: str) -> dict:
        result = getattr(self.office, tool)(**arguments)
        self.s.record(text, tool, arguments, json.dumps(result, ensure_ascii=False))
        return result

    def look_at_all(self, text: str, tool: str, *all_arguments: dict) -> list[dict]:
        """Several calls of one tool, side by side."""
        results = [getattr(self.office, tool)(**arguments) for arguments in all_arguments]
        texts = [json.dumps(result, ensure_ascii=False) for result in results]
        calls = [(play.Call(tool, arguments), result) for arguments, result in zip(all_arguments, texts, strict=True)]
        self.s.events.append(("agent", text, calls, None))
        return results

    def say(self, text: str) -> None:
        self.s.agent(text)


def _desk(talk) -> dict:
    with session("quayside", DESK) as s:
        talk(Desk(s))
        return play.openai_body(s, "gpt-4.1-mini", DESK_TOOLS)


def office_desk() -> list[dict]:
    """Conversations of one morning, one a line."""
    return [_desk(talk) for talk in (_german, _japanese, _korean, _chinese, _polish, _french)]


def _stay(desk: Desk, boat: str, arrives: str, leaves: str, words: dict) -> None:
    """The usual way of a booking: boat, berths, tide, price, booking."""
    found = desk.look(words["boat"], "find_boat", name=boat)
    desk.say(words["found"].format(**found))
    desk.ask(words["dates"])
    free = desk.look("", "free_berths", boat=boat, arrives=arrives, leaves=leaves)["free"]
    desk.say(words["free"].format(codes=", ".join(f["code"] for f in free), floats=free[-1]["floats_from"]))
    desk.ask(words["tide"])
    heights = [desk.look("", "tide_at", moment=f"{arrives}T{hour:02}:00")["height"] for hour in (8, 12, 16, 20)]
    desk.say(words["heights"].format(*heights))
    desk.ask(words["days"])
    lines = []
    for day in _days(arrives, leaves):
        found = []
        for first in (5, 13):
            moments = [f"{day}T{hour:02}:{minute:02}" for hour in range(first, first + 8) for minute in (0, 30)]
            found += desk.look_at_all("", "tide_at", *[{"moment": moment} for moment in moments])
        lines.append(f"{day}: " + ", ".join(f"{row['moment'][11:]} {row['height']:.2f} m" for row in found))
    desk.say(words["list"] + "\n" + "\n".join(lines))
    desk.ask(words["compare"])
    places = [{"boat": boat, "berth": f["code"], "arrives": arrives, "leaves": leaves} for f in free]
    prices = desk.look_at_all("", "price_stay", *places)
    desk.say(
        words["prices"]
        + "\n"
        + "\n".join(
            f"{f['code']}: {p['gross']} EUR, {f['length']} m, {f['floats_from']} m"
            for f, p in zip(free, prices, strict=True)
        )
    )
    desk.ask(words["price"])
    price = desk.look("", "price_stay", boat=boat, berth=free[0]["code"], arrives=arrives, leaves=leaves)
    desk.say(words["gross"].format(berth=free[0]["code"], **price))
    desk.ask(words["agree"])
    booked = desk.look("", "book", boat=boat, berth=free[0]["code"], arrives=arrives, leaves=leaves)
    desk.say(words["booked"].format(**booked))
    desk.ask(words["thanks"])


def _days(arrives: str, leaves: str) -> list[str]:
    first, last = date.fromisoformat(arrives), date.fromisoformat(leaves)
    return [(first + timedelta(days=k)).isoformat() for k in range((last - first).days + 1)]


def _german(desk: Desk) -> None:
    desk.ask("Moin! Wir kommen mit der Nordlicht von Helgoland herüber. Habt ihr Platz?")
    _stay(
        desk,
        "Nordlicht",
        "2026-08-03",
        "2026-08-10",
        {
            "boat": "Moin! Ich sehe nach, was ich über die Nordlicht habe.",
            "found": "Die {name} ist {length} m lang, {beam} m breit und geht {draught} m tief, stimmt das noch? Von wann bis wann?",
            "dates": "Stimmt. Vom 3. bis zum 10. August.",
            "free": "Frei sind {codes}. Auf dem flachsten Platz schwimmt ihr erst ab {floats} m Tide.",
            "tide": "Wie steht die Tide am Montag über den Tag?",
            "heights": "Um 8 Uhr {} m, um 12 Uhr {} m, um 16 Uhr {} m, um 20 Uhr {} m.",
            "days": "Und an den Tagen danach, bis wir wieder fahren? Am besten alle halbe Stunde zu den Zeiten, wo wir raus wollen.",
            "list": "Hier ist jeder Tag bis zur Abfahrt:",
            "compare": "Was kosten die anderen Plätze, und ab welcher Tide schwimmen wir dort?",
            "prices": "Der Preis hängt nur von der Länge des Bootes ab:",
            "price": "Und was kosten die sieben Nächte, auf dem ersten freien Platz?",
            "gross": "Platz {berth}, {nights} Nächte: {gross} Euro mit Steuer, der Wochenrabatt ist schon ab.",
            "agree": "Gut, machen wir so.",
            "booked": "Gebucht: Platz {berth}, {arrives} bis {leaves}, Nummer {number}.",
            "thanks": "Danke! Gibt es Strom am Platz und wo melden wir uns an, wenn wir nach Dienstschluss kommen?",
        },
    )


def _japanese(desk: Desk) -> None:
    desk.ask("おはようございます。ヨット「海風」で来週そちらに寄りたいのですが、空きはありますか。")
    _stay(
        desk,
        "海風",
        "2026-08-04",
        "2026-08-07",
        {
            "boat": "おはようございます。まず船の登録を確認します。",
            "found": "「{name}」は全長{length}メートル、幅{beam}メートル、喫水{draught}メートルで登録されています。ご希望の日付を教えてください。",
            "dates": "八月四日から七日までの三泊です。",
            "free": "空いているバースは {codes} です。一番浅い所では潮高{floats}メートル以上で浮きます。",
            "tide": "四日の潮の高さを教えてください。",
            "heights": "八時は{}メートル、十二時は{}メートル、十六時は{}メートル、二十時は{}メートルです。",
            "days": "出港までの毎日の潮も、三十分ごとに教えてください。",
            "list": "出港までの毎日の潮高です。",
            "compare": "ほかのバースの料金と、浮くために必要な潮高も知りたいです。",
            "prices": "料金は船の長さだけで決まります。",
            "price": "最初の空きバースだと、料金はいくらですか。",
            "gross": "{berth}番バース、{nights}泊で税込み{gross}ユーロです。",
            "agree": "それでお願いします。",
            "booked": "{berth}番バースを{arrives}から{leaves}まで予約しました。予約番号は{number}です。",
            "thanks": "ありがとうございます。夜十時過ぎに着いても大丈夫ですか。🌊",
        },
    )


def _korean(desk: Desk) -> None:
    desk.ask("안녕하세요. '조용한 파도'호로 다음 주에 정박하고 싶습니다.")
    _stay(
        desk,
        "조용한 파도",
        "2026-08-05",
        "2026-08-08",
        {
            "boat": "안녕하세요. 먼저 배 정보를 확인하겠습니다.",
            "found": "'{name}'호는 길이 {length}미터, 폭 {beam}미터, 흘수 {draught}미터로 등록되어 있습니다. 날짜를 알려 주세요.",
            "dates": "8월 5일부터 8일까지입니다.",
            "free": "비어 있는 자리는 {codes}입니다. 가장 얕은 자리는 조위 {floats}미터부터 뜹니다.",
            "tide": "5일의 조위를 알려 주세요.",
            "heights": "8시 {}미터, 12시 {}미터, 16시 {}미터, 20시 {}미터입니다.",
            "days": "떠날 때까지 매일의 조위도 30분 간격으로 알려 주세요.",
            "list": "떠나시는 날까지의 조위입니다.",
            "compare": "다른 자리의 요금과 뜨는 조위도 알려 주세요.",
            "prices": "요금은 배의 길이로만 정해집니다.",
            "price": "첫 번째 자리는 얼마입니까?",
            "gross": "{berth}번 자리, {nights}박에 세금 포함 {gross}유로입니다.",
            "agree": "네, 예약해 주세요.",
            "booked": "{berth}번 자리를 {arrives}부터 {leaves}까지 예약했습니다. 예약 번호는 {number}입니다.",
            "thanks": "감사합니다. 샤워실은 몇 시까지 여나요?",
        },
    )


def _chinese(desk: Desk) -> None:
    desk.ask("你好，我们的帆船“晨星”下周想在你们港口停几天。")
    _stay(
        desk,
        "晨星",
        "2026-08-06",
        "2026-08-13",
        {
            "boat": "您好，我先查一下船的资料。",
            "found": "“{name}”长{length}米，宽{beam}米，吃水{draught}米。请问停靠日期是哪几天？",
            "dates": "八月六日到十三日，一共七晚。",
            "free": "空着的泊位有 {codes}。最浅的泊位要潮高{floats}米以上才能浮起来。",
            "tide": "六日的潮高是多少？",
            "heights": "八点{}米，十二点{}米，十六点{}米，二十点{}米。",
            "days": "离港之前每天的潮高也请每半小时列一次。",
            "list": "到离港为止每天的潮高如下：",
            "compare": "其他泊位要多少钱？分别要多高的潮才能浮起来？",
            "prices": "价格只按船长计算：",
            "price": "第一个空泊位要多少钱？",
            "gross": "{berth}号泊位，{nights}晚，含税{gross}欧元，已经减去一周优惠。",
            "agree": "好的，就订这个。",
            "booked": "已预订{berth}号泊位，{arrives}至{leaves}，编号{number}。",
            "thanks": "谢谢！请问进港时用哪个无线电频道呼叫？",
        },
    )


def _polish(desk: Desk) -> None:
    desk.ask("Dzień dobry, płyniemy jachtem Święty Mikolaj i szukamy miejsca na trzy noce.")
    desk.look("Dzień dobry, sprawdzam jacht.", "find_boat", name="Święty Mikolaj")
    desk.say("Nie mam jachtu o takiej nazwie; czy chodzi o „Święty Mikołaj”, przez ł?")
    desk.ask("Tak, oczywiście, przez ł. Przepraszam, telefon sam poprawia.")
    _stay(
        desk,
        "Święty Mikołaj",
        "2026-08-03",
        "2026-08-06",
        {
            "boat": "",
            "found": "„{name}”: {length} m długości, {beam} m szerokości, {draught} m zanurzenia. Od kiedy do kiedy?",
            "dates": "Od 3 do 6 sierpnia.",
            "free": "Wolne są {codes}. Na najpłytszym stanowisku jacht pływa od {floats} m pływu.",
            "tide": "Jaki będzie pływ w poniedziałek?",
            "heights": "O 8:00 {} m, o 12:00 {} m, o 16:00 {} m, o 20:00 {} m.",
            "days": "A w kolejne dni, aż do wyjścia? Najlepiej co pół godziny.",
            "list": "Każdy dzień aż do wyjścia:",
            "compare": "Ile kosztują inne stanowiska i od jakiego pływu tam pływamy?",
            "prices": "Cena zależy tylko od długości jachtu:",
            "price": "Ile kosztuje pierwsze wolne?",
            "gross": "Stanowisko {berth}, {nights} noce: {gross} euro z podatkiem.",
            "agree": "Biorę.",
            "booked": "Zarezerwowane: {berth}, {arrives} – {leaves}, numer {number}.",
            "thanks": "Dziękuję. Czy można zapłacić kartą?",
        },
    )


def _french(desk: Desk) -> None:
    desk.ask("Bonjour, la Mère l'Oye reste une semaine de plus : est-ce possible sur la même place ?")
    _stay(
        desk,
        "Mère l'Oye",
        "2026-08-04",
        "2026-08-11",
        {
            "boat": "Bonjour, je regarde la fiche du bateau.",
            "found": "« {name} », {length} m de long, {beam} m de large, {draught} m de tirant d'eau. C'est donc du 4 au 11 août ?",
            "dates": "Oui, du 4 au 11.",
            "free": "Libres : {codes}. Sur la moins profonde vous flottez à partir de {floats} m de marée.",
            "tide": "Et la marée le 4 ?",
            "heights": "8 h : {} m, 12 h : {} m, 16 h : {} m, 20 h : {} m.",
            "days": "Et les jours suivants, jusqu'au départ ? Toutes les demi-heures si possible.",
            "list": "Chaque jour jusqu'au départ :",
            "compare": "Combien coûtent les autres places, et à partir de quelle marée y flotte-t-on ?",
            "prices": "Le prix ne dépend que de la longueur du bateau :",
            "price": "Le prix pour les sept nuits ?",
            "gross": "Place {berth}, {nights} nuits : {gross} euros TTC, remise de semaine déduite.",
            "agree": "C'est parfait, je prends.",
            "booked": "C'est réservé : place {berth}, du {arrives} au {leaves}, numéro {number}.",
            "thanks": "Merci ! La capitainerie est-elle ouverte le dimanche ?",
        },
    )


def short_question() -> dict:
    """A conversation that is too short to compact."""
    with session("quayside", DESK) as s:
        desk = Desk(s)
        desk.ask("Is the harbour office open on Sunday?")
        desk.say("From nine to noon and from four to six, June to August.")
        desk.ask("And is there water enough for 1.6 m at the visitors' pontoon at 6 am on the 28th?")
        height = desk.look("", "tide_at", moment="2026-07-28T06:00")["height"]
        desk.say(f"The tide stands at {height} m then. The visitors' pontoon never falls dry, so yes.")
        desk.ask("Thank you!")
        return play.openai_body(s, "gpt-4.1-mini", DESK_TOOLS)


PIXELS = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mM4ffUkVsQwtCQARcyaQW2ZwykAAAAASUVORK5CYII="


def notice_board() -> dict:
    """Screenshots beside text."""
    with session(
        "quayside",
        "You look after the notice board's printout. Compare what the user sees with what the program prints.",
    ) as s:
        s.user(
            "The columns on the notice board are crooked, see the photo. Only in weeks with boats from far away.",
            PIXELS,
        )
        s.agent(
            "I'll print the week that the photo shows and count the columns.",
            shell("python -m quayside week 31 --year 2026"),
            read("quayside/report.py"),
        )
        s.agent(
            "The lines of 海風 and 조용한 파도 are shifted to the right on the board: `width` counts characters, and these take two columns each. I'll check every name.",
            shell(
                "python -c \"import unicodedata; [print(n, len(n), sum(2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in n)) for n in ('海風', '조용한 파도', 'Ørn', 'Nordlicht')]\""
            ),
        )
        s.agent(
            "",
            play.edit(
                "quayside/report.py",
                "    return len(text)",
                '    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)',
            ),
        )
        s.agent("", shell("python -m quayside week 31 --year 2026"), shell("python -m unittest tests.test_report"))
        s.agent("Now each name is padded to its width in columns.")
        s.user("Here is the new printout. Better, but look at the accent in the last line.", PIXELS)
        s.agent(
            "That accent comes as a letter and a combining mark. I look at how it is stored.",
            shell(
                "python -c \"import unicodedata, pathlib; [print([unicodedata.name(c) for c in l if ord(c) > 127][:3]) for l in pathlib.Path('bookings.txt').read_text().splitlines() if not l.startswith('#')]\""
            ),
        )
        s.agent(
            "In bookings.txt it is a single letter; only names typed on the tablet come in two parts. Combining marks take no column, so they are left out of the width.",
            play.edit(
                "quayside/report.py", "    return sum(2 if", "    return sum(0 if unicodedata.combining(c) else 2 if"
            ),
        )
        s.agent("", shell("python -m unittest tests.test_report"), shell("git diff"))
        s.agent("Done: wide characters count two columns, combining marks none.")
        s.user("Can you make the table fit on A4 in landscape?", PIXELS)
        s.agent(
            "The table has 6 + 7 columns of the longest name, at least 10 wide. I measure the longest line.",
            shell(
                "python -m quayside week 31 --year 2026 | awk '{ if (length($0) > m) m = length($0) } END { print m }'"
            ),
            play.search("columns", "quayside/report.py"),
        )
        s.agent(
            "The longest line has fewer than 100 columns; in a 10-point fixed font A4 landscape holds about 118. It fits as it is."
        )
        s.user("Then print it, please.")
        return play.openai_body(s, "gpt-4o-2024-08-06")


def unanswered_call() -> dict:
    """Deliberately broken: a call without a result, a result without a call, two results in the wrong place."""
    body = short_question()
    messages = body["messages"]
    call = next(m for m in messages if m.get("tool_calls"))["tool_calls"][0]
    broken = [
        messages[0],
        messages[1],
        messages[2],
        {"role": "tool", "tool_call_id": "call_lost", "content": '{"height": 3.4}'},
        messages[3],
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "Are you still there?"},
        {"role": "tool", "tool_call_id": call["id"], "content": '{"height": 3.77}'},
        {
            "role": "assistant",
            "content": "The tide stands at 3.77 m then.",
            "tool_calls": [{**call, "id": "call_never"}],
        },
        {"role": "user", "content": "Thank you!"},
    ]
    return {**body, "messages": broken}
