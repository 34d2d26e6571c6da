"""Every room walked through with the Tab key alone: all controls are reached, named, in view and marked."""

import pytest

CONTROLS = """() => {
  const folded = e => e.closest("details:not([open]) > :not(summary)") !== null;
  const shown = e => e.checkVisibility({ checkVisibilityCSS: true }) && !folded(e);
  const kinds = "a[href], button, input, select, textarea, summary, [tabindex]";
  const all = [...document.querySelectorAll(kinds)].filter(e => e.tabIndex >= 0 && !e.disabled && shown(e));
  all.forEach((e, place) => { e.dataset.place = place; });
  return all.map(e => e.type === "radio" ? "radio" : e.tagName.toLowerCase());
}"""
FOCUSED = """() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const box = e.getBoundingClientRect(), style = getComputedStyle(e), mark = e.querySelector(".hit");
  const label = e.labels && e.labels.length ? e.labels[0].innerText : "";
  return {
    place: e.dataset.place ?? null,
    name: (e.getAttribute("aria-label") || label || e.innerText || e.title || "").trim(),
    marked: style.outlineStyle !== "none" || (mark !== null && getComputedStyle(mark).stroke !== "none"),
    seen: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
  };
}"""


@pytest.mark.parametrize("room", ["collapse", "groups", "memorisation", "width", "audit", "trial", "claims"])
def test_a_room_is_walked_through_with_the_tab_key(page, laboratory, room) -> None:
    page.goto(f"{laboratory}/#/{room}?example=no")  # its results would come in the middle of the walk
    page.wait_for_selector(f"nav a[data-room='{room}'][aria-current]")
    page.wait_for_selector("main input:visible, main select:visible")
    page.wait_for_timeout(1500)  # plots and their buttons come last
    controls = page.evaluate(CONTROLS)
    walked = []
    for _ in range(len(controls) + 5):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused is None:
            break
        walked.append(focused)
    else:
        pytest.fail(f"the walk never left the page; it ended in {walked[-5:]}")
    assert [one for one in walked if not one["name"]] == []
    assert [one["name"] for one in walked if not one["marked"]] == []
    assert [one["name"] for one in walked if not one["seen"]] == []
    # Of a group of radio buttons Tab reaches one; of bars that arrows move between, too: all else is reached.
    reached = {int(one["place"]) for one in walked if one["place"] is not None}
    missed = [controls[place] for place in range(len(controls)) if place not in reached]
    assert set(missed) <= {"radio", "g"}
    assert len(walked) > 10
