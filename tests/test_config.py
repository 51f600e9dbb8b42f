from __future__ import annotations

from pathlib import Path

import pytest

import plurivox as pv
from plurivox.base.errors import ConfigError
from plurivox.config import config_text, find_config, load_config, load_scale
from plurivox.read.settings import ReadSettings
from support import Write, some


def test_everything_it_can_say(write: Write, tmp_path: Path) -> None:
    path = write(
        "plurivox.toml",
        """
        min_group_size = 3
        [columns]
        item = "conv"
        rater = "who"
        score = "Q"
        duplicates = "first"
        encoding = "latin-1"
        [scale]
        labels = ["No", "Unsure", "Yes"]
        values = [0, 1, 5]
        missing = ["skip"]
        [raters]
        file = "people.csv"
        columns = ["gender"]
        by = ["age", ["race", "gender"]]
        [raters.bins]
        age = [18, 30]
        income = { edges = [0, 1000], labels = ["low", "high"] }
        [raters.several]
        race = ";"
        [items]
        file = "texts.csv"
        columns = ["topic"]
        """,
    )
    config = load_config(path).reading
    assert (config.item, config.rater, config.score) == ("conv", "who", "Q")
    assert config.scale == pv.Scale(["No", "Unsure", "Yes"], values=[0, 1, 5], missing=["skip"])
    assert config.raters == str(tmp_path / "people.csv")
    assert config.by == (("age",), ("race", "gender"))
    assert config.bins == {"age": (18, 30), "income": {"edges": (0, 1000), "labels": ("low", "high")}}
    assert config.several == {"race": ";"}
    assert (config.min_group_size, config.duplicates, config.encoding) == (3, "first", "latin-1")
    assert config.rater_attributes == ("gender",)
    assert config.item_attributes == ("topic",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[colums]\nitem = 1", "'colums' is not a setting. Known: [columns]"),
        ("[columns]\nitm = 'x'", "'[columns] itm' is not a setting. Known here: item, rater"),
        ("[columns]\nitem = 3", "'[columns] item' is 3 and should be a str"),
        ("min_group_size = true", "'min_group_size' is True and should be a int"),
        ("[scale]\nlabels = ['one']", "a scale needs at least two points"),
        ("[raters.bins]\nage = 18", "the bins of 'age' are 18. Write where each starts"),
        ("[raters.bins]\nage = []", "the bins of 'age' are []"),
        ("not toml", "it is not valid TOML"),
    ],
)
def test_bad_settings_are_named(write: Write, text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write("plurivox.toml", text))
    assert problem in str(caught.value)
    assert "plurivox.toml" in str(caught.value)


def test_found_beside_the_data_and_scale_files(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_config(tmp_path / "r.csv") is None
    path = write("plurivox.toml", "")
    assert find_config(tmp_path / "r.csv") == path
    monkeypatch.chdir(tmp_path)
    assert find_config("-") == Path("plurivox.toml")
    assert load_scale(write("s.toml", 'labels = ["bad", "good"]')) == pv.Scale(["bad", "good"])
    assert load_scale(write("s.toml", '[scale]\nlabels = "0:4"\nvalues = [0, 1, 2, 3, 9]')).values[-1] == 9
    with pytest.raises(ConfigError, match="there are no labels"):
        load_scale(write("s.toml", "missing = []"))


def test_what_was_recognised_is_read_back(write: Write) -> None:
    data = write("r.csv", 'conv id,who,"Q ""1"""\n1,a,No\n2,b,Yes\n')
    scale = pv.Scale(["No", 'Un"sure', "Yes"], missing=["–"])
    ratings = pv.read_ratings(data, item="conv id", rater="who", score='Q "1"', scale=scale, duplicates="mode")
    config = load_config(write("plurivox.toml", config_text(ratings, ReadSettings(raters="people.csv")))).reading
    assert (config.item, config.rater, config.score) == ("conv id", "who", 'Q "1"')
    assert (config.scale, config.duplicates) == (scale, "mode")
    assert some(config.raters).endswith("people.csv")
