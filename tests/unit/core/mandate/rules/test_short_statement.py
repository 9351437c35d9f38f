"""What is said of sums over several mandates of which some are not whole."""

from core.mandate.rules.statement import MOST_NAMED, issue_of_parts


def issue(*short: str) -> str:
    parts = [{"mandate_id": "m_whole"}, *({"mandate_id": one, "data_issue": True} for one in short)]
    return str(issue_of_parts(parts)["data_issue_reason"])


def test_sums_of_whole_mandates__have_no_issue() -> None:
    assert issue_of_parts([{"mandate_id": "m_whole"}]) == {}


def test_all_are_named_up_to_five__and_then_counted() -> None:
    five = [f"m_{number}" for number in range(MOST_NAMED)]
    assert issue(*five).startswith("The numbers of m_0, m_1, m_2, m_3, m_4 are incomplete")
    assert issue(*five, "m_5", "m_6").startswith(
        "The numbers of m_0, m_1, m_2, m_3, m_4 and 2 more are incomplete"
    )
