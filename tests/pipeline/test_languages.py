"""Notes in several languages, asked in one of them, with the real model."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ENGLISH = {
    "printer": "The printer is in the cellar and it has to be switched on by hand.",
    "doctor": "The appointment with the dentist is on the third of March at nine.",
    "car": "We have sold the old car to the neighbour for two thousand.",
    "tax": "The tax return is due at the end of July and it has not been started.",
    "cat": "The cat has to get her medicine in the morning with the food.",
    "garden": "In the garden the apple tree is to be cut before the winter.",
    "train": "The train to Hamburg leaves from platform seven at noon.",
    "tea": "For the green tea the water should not be hotter than seventy degrees.",
    "key": "The spare key is with the woman on the second floor.",
    "bank": "The bank will close our account at the end of the year.",
}
CHINESE = {
    "wifi": "路由器的密码写在红色文件夹里，文件夹在书架上。",
    "trip": "明年四月我们想去武夷山看茶园，住三个晚上。",
    "rent": "房租每个月一号要付，房东的账号在合同里。",
    "piano": "女儿每个星期二下午四点上钢琴课。",
    "fridge": "冰箱坏了，维修的人星期五上午会来。",
    "birthday": "妈妈的生日是九月十二号，她喜欢兰花。",
    "gym": "健身房的会员卡十二月到期，需要续费。",
    "book": "图书馆借的两本书下个星期要还。",
    "visa": "签证需要邀请函和三张照片。",
    "bike": "自行车的后轮需要换一个新的轮胎。",
}


@pytest.fixture
def mixed(lab: Any) -> Any:
    lab.memory_search = {"provider": "builtin"}
    for name, text in (ENGLISH | CHINESE).items():
        lab.note(f"memory/{name}.md", text)
    lab.run("index")
    return lab


def test_a_question_finds_notes_in_the_other_language(mixed: Any) -> None:
    asked = {
        "打印机在哪里？": "printer",
        "什么时候去看牙医？": "doctor",
        "泡绿茶的水温是多少？": "tea",
        "When is the mother's birthday and what does she like?": "birthday",
        "Where is the password of the router written down?": "wifi",
        "When will someone come to repair the fridge?": "fridge",
    }

    for question, note in asked.items():
        found = json.loads(mixed.run("search", "--json", "--query", question).stdout)["results"]
        assert found and found[0]["path"] == f"memory/{note}.md", question
