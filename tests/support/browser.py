# SPDX-License-Identifier: MIT
"""A report page in headless Chromium: what it shows is what its documents say, and each control does what it says.

    browser.py PAGE.html [PICTURE.png]

Prints a line for each statement that does not hold, then the counts.  Exit status 77: there is no browser or no selenium.
"""
import json
import math
import pathlib
import re
import sys

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options)
except Exception as error:  # no package, no browser, or one that does not start here
    print(f"no browser to look with: {str(error).splitlines()[0]}")
    sys.exit(77)

passed = failed = 0


def holds(what, is_so):
    global passed, failed
    if is_so:
        passed += 1
    else:
        failed += 1
        print(f"{what}: not so")


def script(text, *arguments):
    return driver.execute_script(text, *arguments)


def wait_for(what, text):
    try:
        WebDriverWait(driver, 120).until(lambda _: script(f"return {text}"))
        holds(what, True)
    except Exception:
        holds(what, False)


def keys(*pressed):
    driver.switch_to.active_element.send_keys(*pressed)


def click_at(element, x, y):
    """In pixels of the element's box, of which the browser may show a part alone."""
    at = script("const r = arguments[0].getBoundingClientRect(); return [r.left, r.top]", element)
    for kind in ("mousePressed", "mouseReleased"):
        driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": at[0] + x, "y": at[1] + y, "button": "left",
                                                            "clickCount": 1})


def close(a, b, slack):
    return abs(a - b) <= slack


def look():
    wait_for("the whole page is drawn", "['all', 'failed'].includes(document.documentElement.dataset.ready)")
    holds("nothing failed", script("return document.documentElement.dataset.ready") == "all")
    holds("the console is silent", [e for e in driver.get_log("browser") if e["level"] == "SEVERE"] == [])
    for verb, look_at in (("explore", look_at_explore), ("regress", look_at_regress),
                          ("compare", look_at_compare), ("what_if", look_at_what_if),
                          ("ranks", look_at_ranks)):
        about = script("const d = document.getElementById(arguments[0]); return d && d.textContent", verb)
        if about:
            look_at(json.loads(about))
            return
    result = json.loads(script("return document.getElementById('result').textContent"))
    names = json.loads(script("return document.getElementById('names').textContent"))
    stats = result["stats"]
    holds("the head names the program", result["program"] in driver.find_element(By.ID, "title").text)
    if stats.get("verdict"):
        holds("the verdict is that of the document", stats["verdict"]["bound_by"] in driver.find_element(By.ID, "verdict").text)
        activity = stats["verdict"]["activity"]
        holds("and the activity that has the most of it", not activity or
              script("return `${ACTIVITIES[arguments[0]]}, ${timeText(arguments[1])}`", activity, stats["verdict"]["activity_us"])
              in driver.find_element(By.ID, "verdict").text)
        advice = [item.text for item in driver.find_elements(By.CSS_SELECTOR, "#advice li")]
        holds("what would help is that of the document", len(advice) == len(stats["verdict"]["gains"]) and
              all(gain["what"] in text and script("return timeText(arguments[0])", gain["us"]) in text
                  for gain, text in zip(stats["verdict"]["gains"], advice)))
        holds("with the command that runs it", all((gain["command"] or gain["chip_set"] or "") in text
                                                   for gain, text in zip(stats["verdict"]["gains"], advice)))
        holds("a command is one that tells the time", all((gain["command"] or "ptosim run ").startswith(("ptosim run ", "ptosim graph ", "ptosim perf "))
                                                          for gain in stats["verdict"]["gains"]))
        holds("what-if is named where something would help",
              ("what-if" in driver.find_element(By.ID, "advice-hint").text) == bool(stats["verdict"]["gains"]))
    keys = stats["chip_keys"] or []
    script("const chip = document.querySelector('#chip details'); if (chip) chip.open = true")
    holds("each number of the chip is there, with its source", cells("#chip table") ==
          [[key["key"], key["value"], key["unit"], key["tag"] or "", key["source"]] for key in keys])
    if "accounts" in stats:
        look_at_accounts(stats)
    look_at_kernels(stats)
    look_at_groups(result)
    look_at_path(stats)
    look_at_timeline(result, names)
    look_at_rest(result, names)


def cells(table):
    return script("return [...document.querySelectorAll(arguments[0] + ' tbody tr')].map(r => [...r.cells].map(c => c.textContent))", table)


def look_at_explore(about):
    verdict = driver.find_element(By.ID, "verdict").text
    holds("the head names the program", about["program"] in driver.find_element(By.ID, "title").text)
    holds("the verdict counts what differs", (str(about["differing"]) in verdict) == (about["differing"] > 0) and
          verdict.startswith("No order") == (about["differing"] == 0))
    if about.get("ranks"):
        holds("the verdict speaks of ranks", verdict.startswith("The result depends on which rank is late"))
    rows = cells("#differences")
    holds("there is a row for each difference", [(r[0], r[1]) for r in rows] ==
          [(d["schedule"], "; ".join(d["holds"])) for d in about["differences"]])
    told = [item.text for item in driver.find_elements(By.CSS_SELECTOR, "#explore-findings li")]
    holds("each finding is told", len(told) == len(about["findings"]) and
          all(f["sentence"] in text for f, text in zip(about["findings"], told)))
    holds("strategies are counted", cells("#strategies") == [[name, str(count)] for name, count in about["strategies"].items()])
    holds("no part of a run is shown", script("return [...document.querySelectorAll('main > section:not(.empty)')].map(s => s.id)") == ["part-explore"])


def look_at_regress(about):
    verdict = driver.find_element(By.ID, "verdict").text
    for what in ("changed", "failed"):
        count = about["counts"][what]
        holds(f"the verdict counts what has {what}", (f"{count} {what}" in verdict) == (count > 0))
    rows = cells("#cases")
    holds("there is a row for each case", sorted((r[0], r[1]) for r in rows) == sorted((r["case"], r["verdict"]) for r in about["results"]))
    by_case = {r["case"]: r for r in about["results"]}
    changes = [by_case[r[0]]["virtual_us"] / by_case[r[0]]["baseline_virtual_us"] - 1 for r in rows if r[1] == "changed"]
    holds("changes stand first, the largest change first", [r[1] for r in rows[:len(changes)]] == ["changed"] * len(changes) and
          changes == sorted(changes, key=abs, reverse=True))
    holds("changes are those of the document", all(close(float(r[2].replace(" %", "")) / 100, change, 0.00006)
                                                   for r, change in zip(rows, changes)))


def look_at_compare(about):
    comparison = about["comparison"]
    holds("the verdict is that of the document", driver.find_element(By.ID, "verdict").text == comparison["verdict"])
    for table, key in (("path", "path"), ("kernels", "kernels"), ("accounts", "accounts"), ("tasks", "alike_tasks")):
        rows = cells(f"#compare-{table}")
        holds(f"{table} stand as in the document", [r[0] for r in rows] == [row["name"] for row in comparison[key]])
        holds(f"what of {table} is the same is told so",
              all((r[3] in ("the same", "not told apart")) != row["differs"] for r, row in zip(rows, comparison[key])))
    order = script("return [...document.querySelectorAll('#part-compare table')].map(t => t.id)")
    holds("the table with the cause stands first", not comparison["cause_table"] or
          order[0] == "compare-" + comparison["cause_table"].replace("alike_tasks", "tasks"))
    at = 8 if comparison["makespan"]["change_low_us"] is not None else 7
    holds("tasks are counted as in the document", [r[at:at + 2] for r in cells("#compare-tasks")] ==
          [[str(row["a_tasks"]), str(row["b_tasks"])] for row in comparison["alike_tasks"]])
    median = lambda time: time["median_us"] if isinstance(time, dict) else time
    longest = max(median(comparison["makespan"][side]) for side in "ab")
    scale = script("return document.querySelector('#compare-bars .axis path').getBBox().width")
    bars = script("return [...document.querySelectorAll('#compare-bars rect.bar')].map(r => ({side: r.dataset.resource,"
                  " name: r.dataset.activity, width: r.getBoundingClientRect().width}))")
    drawn = comparison["path"] or [comparison["makespan"]]
    times = {(row["name"], side): median(row[side.lower()]) for row in drawn for side in "AB"}
    holds("bars are as long as their times", bars != [] and
          all(close(bar["width"], times[bar["name"], bar["side"]] / longest * scale, 1.5) for bar in bars))
    if script("return lanes.length"):
        look_at_lanes(comparison)
    else:
        holds("what has no timelines says so", "no timeline" in driver.find_element(By.ID, "part-compare").text)


def look_at_lanes(comparison):
    """Two timelines under each other, on one axis and with the same controls."""
    is_exact = comparison["is_exact"]
    names = [item.text for item in driver.find_elements(By.CSS_SELECTOR, "#lanes .lane h3")]
    holds("each timeline says whose it is", [name[:3] for name in names] == ["A: ", "B: "])
    # Calls and times of the spans are the document's.
    sums = script("return lanes.map(({run}) => { const sums = {}; const {spans, names} = run;"
                  " for (let i = run.firstCall; i < spans.count; i++) { const s = sums[names.names[spans.name[i]]] ||= [0, 0];"
                  " s[0]++; s[1] += (spans.end[i] - spans.begin[i]) / names.units_per_us; } return sums; })")
    for side, of in zip("ab", sums):
        wanted = {row["name"]: row for row in comparison["kernels"] if row[f"{side}_calls"]}
        holds(f"timeline {side} has the calls of each kernel", {name: s[0] for name, s in of.items()} ==
              {name: row[f"{side}_calls"] for name, row in wanted.items()})
        holds(f"timeline {side} has their time", not is_exact or
              all(close(of[name][1], row[side], 1e-5 * row[side]) for name, row in wanted.items()))
    ends = script("return lanes.map(({run, timeline}) => [run.end, timeline.end])")
    holds("both have one axis, as long as the longer run", all(end == max(own for own, _ in ends) for _, end in ends))
    wide = script("return lanes.map(({run, timeline}) => run.end / timeline.end * (timeline.width - LABEL_WIDTH))")
    last = script("return lanes.map(({run, timeline}) => Math.max(...Array.from(run.spans.end, (_, i) => {"
                  " const b = timeline.boxOf(i); return b.x + b.width - LABEL_WIDTH; })))")
    holds("each is as wide as it is long", all(close(a, b, 0.01) for a, b in zip(wide, last)))
    views = lambda: script("return lanes.map(({timeline}) => timeline.scale.domain())")
    same = lambda: all(close(a, b, 1e-6 * ends[0][1]) for a, b in zip(*views()))
    before = views()
    for button in ("in", "in", "out"):
        driver.find_element(By.CSS_SELECTOR, f"[data-do={button}]").click()
    holds("the buttons zoom both", same() and views()[0] != before[0])
    canvases = driver.find_elements(By.CSS_SELECTOR, "#lanes canvas")
    for at, canvas in enumerate(canvases):
        before = views()
        script("arguments[0].focus()", canvas)
        canvas.send_keys(Keys.ARROW_RIGHT)
        holds(f"an arrow key on timeline {at} pans both", same() and views()[0][0] > before[0][0])
    driver.find_element(By.CSS_SELECTOR, "[data-do=all]").click()
    holds("the whole run is shown in both", same() and close(views()[0][1], ends[0][1], 1e-6 * ends[0][1]))
    for at, canvas in enumerate(canvases):
        span = script("const {run} = lanes[arguments[0]]; let best = run.firstCall; for (let i = best; i < run.spans.count; i++)"
                      " if (run.spans.end[i] - run.spans.begin[i] > run.spans.end[best] - run.spans.begin[best]) best = i; return best", at)
        box = script("const {run, timeline} = lanes[arguments[0]], s = arguments[1]; timeline.show(run.spans.begin[s], run.spans.end[s] + 1);"
                     " return timeline.boxOf(s)", at, span)
        script("arguments[0].scrollIntoView(); arguments[0].parentNode.scrollTop = arguments[1]", canvas, max(0, box["y"] - 60))
        click_at(canvas, box["x"] + box["width"] * 0.6, box["y"] + 6)
        holds(f"a click selects in timeline {at} alone", script("return lanes.map(l => l.timeline.selected >= 0)") == [at == 0, at == 1])
        wait_for(f"the task of timeline {at} is told with its tensors", "document.querySelectorAll('#task h3').length >= 4")
        text = driver.find_element(By.ID, "task").text
        holds(f"the panel says whose it is", text.startswith("AB"[at] + ": "))
    row = comparison["kernels"][0]
    field = driver.find_element(By.CSS_SELECTOR, "#search input[type=search]")
    field.send_keys(f'"{row["name"]}"')
    found = int(driver.find_element(By.CSS_SELECTOR, "#search output").text.split()[0])
    holds("the search finds the calls of both", found == row["a_calls"] + row["b_calls"])
    seen = []
    for _ in range(found):
        field.send_keys(Keys.ENTER)
        seen.append(script("const at = lanes.findIndex(l => l.timeline.selected >= 0); return [at, lanes[at].timeline.selected]"))
    holds("return goes to each of them, in A and then in B", seen == sorted(seen) and len({tuple(s) for s in seen}) == found)
    field.clear()
    field.send_keys(" ", Keys.BACKSPACE)
    path = driver.find_element(By.CSS_SELECTOR, "#search input[name=path]")
    holds("there is a switch for the critical paths where there are some", path.is_displayed() == is_exact)
    if path.is_displayed():
        path.click()
        holds("they can be hidden", script("return lanes.map(l => l.timeline.showsPath)") == [False, False])
        path.click()
    look_at_print()


def look_at_ranks(about):
    """A timeline a rank and one of links, and what is told of all of them."""
    verdict, path = driver.find_element(By.ID, "verdict").text, about["path"]
    holds("the head names the program", about["program"] in driver.find_element(By.ID, "title").text)
    holds("the verdict names what bounds all", path["bound_by"] in verdict and f"rank {path['most']['rank']}" in verdict)
    names = [item.text for item in driver.find_elements(By.CSS_SELECTOR, "#lanes .lane h3")]
    holds("each rank has a timeline, and links have one", names == [f"rank {i}" for i in range(about["ranks"])] + ["links"])
    sums = script("return lanes.map(({run}) => { const {spans} = run; let time = 0;"
                  " for (let i = run.firstCall; i < spans.count; i++) time += (spans.end[i] - spans.begin[i]) / run.names.units_per_us;"
                  " return [spans.count - run.firstCall, time]; })")
    for rank, result in enumerate(about["results"]):
        kernels = result["stats"]["kernels"]
        holds(f"rank {rank} has its calls", sums[rank][0] == result["stats"]["calls"])
        holds(f"and their time is that of rank {rank}", close(sums[rank][1], sum(k["total_us"] for k in kernels), 1e-4))
    tracks = script("return lanes[lanes.length - 1].run.names.tracks")
    holds("links that carried anything have tracks", set(tracks) == {link["link"] for link in about["links"]})
    holds("all that they carried is there", sums[-1][0] == sum(link["messages"] for link in about["links"]))
    bars = script("return [...document.querySelectorAll('#ranks-path rect.bar')].map(b => [b.dataset.resource, +b.dataset.us])")
    for resource in ("by activity", "by rank and link"):
        holds(f"the path {resource} is as long as the run", close(sum(us for of, us in bars if of == resource), path["makespan_us"], 1e-6))
    steps = script("return lanes.map(({run}) => run.path ? run.path.length : 0)")
    holds("its steps are on the ranks' tracks", sum(steps) == len(path["steps"]))
    holds("there is a row a rank", len(cells("#ranks-results")) == about["ranks"])
    holds("there is a row a link", sorted(r[0] for r in cells("#ranks-links")) == sorted(link["link"] for link in about["links"]))
    found = script("const d = document.getElementById('found'); return d && JSON.parse(d.textContent)")
    if found:
        holds("the verdict counts the findings", f"{found['finding_count']} finding" in verdict)
        told = [item.text for item in driver.find_elements(By.CSS_SELECTOR, "#findings li")]
        holds("each finding is told", len(told) == len(found["findings"]) > 0 and
              all(f["sentence"] in text for f, text in zip(found["findings"], told)))
    if not about.get("comm_stats"):
        return
    waits = cells("#ranks-waits")
    holds("who waited for whom stands as in the document", [(int(r[0]), int(r[1])) for r in waits] ==
          [(w["rank"], w["peer"]) for w in about["comm_stats"]["waits"]][:len(waits)] and waits)


def look_at_what_if(about):
    what_if = about["what_if"]
    plain, numbers = what_if["virtual_us"], what_if["numbers"]
    effect = lambda key: max(abs((key[side]["virtual_us"] or plain) - plain) for side in ("half", "twice"))
    holds("the verdict names what changes it most", numbers[0]["key"] in driver.find_element(By.ID, "verdict").text)
    holds("parts stand as in the document", [(row[0], row[2]) for row in cells("#what-if-parts")] ==
          [(part["what"], part["chip_set"]) for part in what_if["parts"] if part["virtual_us"] != plain])
    holds("no text leaves its cell", script("return [...document.querySelectorAll('td')].every(d => d.scrollWidth <= d.clientWidth)"))
    wanted = [key["key"] for key in numbers if effect(key) > 0 or key["half"]["error"] or key["twice"]["error"]]
    holds("numbers with an effect stand as in the document", [row[0] for row in cells("#what-if-numbers")] == wanted)
    for name in ("clusters", "window"):
        times = [run["virtual_us"] for run in what_if["curves"][name] if run["virtual_us"] is not None]
        points = script("const b = document.querySelector(arguments[0] + ' .axis path').getBoundingClientRect();"
                        " return [...document.querySelectorAll(arguments[0] + ' circle')].map(c => {"
                        " const r = c.getBoundingClientRect(); return b.top - (r.top + r.bottom) / 2; })", f"#what-if-{name}")
        scale = max(points) / max(times)
        holds(f"points of {name} are as high as their times", len(points) == len(times) > 1 and
              all(close(height, time * scale, 1.5) for height, time in zip(points, times)))


def look_at_accounts(stats):
    bars = {(b["resource"], b["activity"]): b for b in script(
        "return [...document.querySelectorAll('#accounts rect.bar')].map(r => ({resource: r.dataset.resource,"
        " activity: r.dataset.activity, us: +r.dataset.us, width: r.getBoundingClientRect().width}))")}
    scale = script("const t = [...document.querySelectorAll('#accounts .axis path')][0].getBBox(); return t.width")
    count = 0
    for account in stats["accounts"]:
        name = f"{account['count']} {account['resource']}" if account["count"] > 1 else account["resource"]
        for activity, us in account["us"].items():
            if us <= 0:
                continue
            count += 1
            bar = bars.get((name, activity))
            wanted = us / account["count"] / stats["makespan_us"] * scale
            holds(f"the bar of {name}, {activity} is as long as its time", bar and close(bar["width"], wanted, 1.5))
    holds("there is a bar for each time, and no other", count == len(bars))
    holds("no name is wider than its bar", script(
        "const width = e => e.getBBox().width; return [...document.querySelectorAll('#accounts g.part')].every(p => {"
        " const name = p.querySelector('.inside'); return !name.textContent || width(name) <= width(p.querySelector('rect')); })"))


def look_at_kernels(stats):
    rows = script("return [...document.querySelectorAll('#kernels tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
    holds("the table has each kernel and its calls",
          sorted((r[0], int(r[1])) for r in rows) == sorted((k["name"], k["calls"]) for k in stats["kernels"]))
    heads = script("return [...document.querySelectorAll('#kernels th')].map(h => h.textContent)")
    by_name = {k["name"]: k for k in stats["kernels"]}
    for head, key, digits, number in (("ops/byte", "intensity", 3, float), ("Gop/s", "gops", 4, float), ("GB/s", "gbps", 4, float),
                                      ("of roof", "roof_share", 3, lambda text: float(text.replace(" %", "")) / 100)):
        if head not in heads:
            holds("only runs on threads have no roofs", stats["roofs"] == [])
            continue
        for row in rows:
            value, text = by_name[row[0]][key], row[heads.index(head)].replace(",", "")
            holds(f"{head} of {row[0]} is the document's",
                  text == "" if value is None else close(number(text), value, max(6 * 10**-digits * abs(value), 0.0006)))
    look_at_roofline(stats)
    script("document.querySelectorAll('#kernels th button')[1].click()")
    calls = script("return [...document.querySelectorAll('#kernels tbody tr')].map(r => +r.cells[1].textContent)")
    holds("a click on a head sorts by it", calls == sorted(calls, reverse=True) or calls == sorted(calls))


def look_at_groups(result):
    for part, key, name in (("nodes", "node_times", "name"), ("labels", "label_times", "label")):
        groups = result.get(key) or []
        rows = cells(f"#{part} table")
        holds(f"there is a row for each of the first {part}",
              [(r[0], int(r[1])) for r in rows] == [(g[name] or "(none)", g["calls"]) for g in groups[:20]])
        shares = [g["seconds"] / sum(other["seconds"] for other in groups) for g in groups[:20]]
        holds(f"shares of {part} are those of the document",
              all(close(float(r[2].replace(" %", "")) / 100, share, 0.0006) for r, share in zip(rows, shares)))
        if rows and groups[0][name]:
            script("document.querySelector(arguments[0] + ' tbody a').dispatchEvent(new Event('click'))", f"#{part}")
            found = script("return document.querySelector('#search output').textContent")
            holds(f"a click finds what is of one of the {part}", int(found.split()[0]) >= groups[0]["calls"])
            script("document.querySelector('#search input').value = ''; document.querySelector('#search input').dispatchEvent(new Event('input'))")


def look_at_path(stats):
    if not stats.get("path"):
        return
    groups = script("return GROUPS")
    rows = cells("#path table")
    holds("each step says what is done", [row[3] for row in rows] == [
        f"{groups[step['group']]}{', ' + step['kernel'] if step['kernel'] else ''}" for step in stats["path"]["steps"][:200]])


def look_at_tracks(stats, names):
    """In virtual time a track says what the account of its resource does, under the same words."""
    words = script("return ACTIVITIES")
    sums = script("const sums = {}; const {spans, names} = run; for (let track = 0; track < names.first_core; track++) {"
                  " const of = sums[names.tracks[track]] = {}; for (let i = spans.first[track]; i < spans.first[track + 1]; i++)"
                  " of[names.names[spans.name[i]]] = (of[names.names[spans.name[i]]] || 0) + spans.end[i] - spans.begin[i]; } return sums;")
    for account in stats["accounts"]:
        if account["kind"] in ("aic", "aiv", "link"):
            continue
        wanted = {words[activity]: round(us * names["units_per_us"]) for activity, us in account["us"].items()}
        holds(f"the track of {account['resource']} has the times of its account, {sums.get(account['resource'])}, {wanted}",
              sums.get(account["resource"]) == wanted)
    parts = script("const sum = (list, of) => list.first.slice(1).map((end, track) => { let us = 0; for (let i = list.first[track]; i < end; i++)"
                   " us += of(i); return us; }); const {overview: o, spans: s} = run, ends = list => list.first.slice(1).map((end, track) =>"
                   " end > list.first[track] ? [list.begin[list.first[track]], Math.max(...list.end.subarray(list.first[track], end))] : []);"
                   "return [[sum(o, i => o.busy[i]), ends(o), o.count], [sum(s, i => timeline.isIdle[s.name[i]] ? 0 : s.end[i] - s.begin[i]), ends(s),"
                   " s.first.slice(1).reduce((items, end, track) => items + Math.ceil((end - s.first[track]) / 64), 0)]]")
    holds("the overview has the spans' busy time on each track, and an item for 64", parts[0] == parts[1])
    waiting = script("return timeline.tracks.some(t => t.levels.slice(1).some(l => l.busy.some((busy, i) => busy > l.end[i] - l.begin[i] + 1)))")
    holds("nothing is busier than it is long", waiting is False)


def look_at_timeline(result, names):
    if names["virtual"]:
        look_at_tracks(result["stats"], names)
    canvas = driver.find_element(By.CSS_SELECTOR, "#lanes canvas")
    spans = script("return run.spans.count")
    holds("there are spans", spans > 0)
    makespan = result["stats"].get("makespan_us", 1e18)
    holds("the last span ends when the run does",
          script("return run.end / NAMES.units_per_us") <= makespan * 1.000001)
    # A span's box is as wide as its time.
    for span in {0, spans // 2, spans - 1}:
        box, begin, end = script("return [timeline.boxOf(arguments[0]), run.spans.begin[arguments[0]], run.spans.end[arguments[0]]]", span)
        width = script("return (timeline.width - 150)")
        run_end = script("return run.end")
        holds(f"span {span} is as wide as its time", close(box["width"], (end - begin) / run_end * width, 0.01))
    # Its colour is there, in the picture.
    span = script("let best = 0; for (let i = run.firstCall; i < run.spans.count; i++)"
                  " if (run.spans.end[i] - run.spans.begin[i] > run.spans.end[best] - run.spans.begin[best]"
                  " || best < run.firstCall) best = i; return best")
    script("const s = arguments[0]; timeline.show(run.spans.begin[s], run.spans.end[s] + 1)", span)
    box = script("return timeline.boxOf(arguments[0])", span)
    pixel = script("const c = timeline.canvas.node(), r = window.devicePixelRatio || 1;"
                   "return [...c.getContext('2d').getImageData((arguments[0]) * r, (arguments[1]) * r, 1, 1).data]",
                   box["x"] + box["width"] * 0.75, box["y"] + 3)
    wanted = script("const c = d3.rgb(run.colour(NAMES.names[run.spans.name[arguments[0]]])); return [c.r, c.g, c.b]", span)
    holds("the picture has the colour of the kernel", all(close(a, b, 3) for a, b in zip(pixel, wanted)))
    # Select by a click.
    script("document.querySelector('#lanes').scrollIntoView(); document.querySelector('#lanes .chart').scrollTop = arguments[0]",
           max(0, box["y"] - 60))
    x, y = box["x"] + box["width"] * 0.6, box["y"] + 6
    click_at(canvas, x, y)
    # On threads calls of one core may overlap: it is one of those under the point.
    span = script("return timeline.selected")
    box = script("return timeline.boxOf(arguments[0])", span) if span >= 0 else box
    holds("a click selects a span under it", span >= 0 and box["x"] - 3 <= x <= box["x"] + box["width"] + 3 and
          box["y"] <= y <= box["y"] + box["height"])
    wait_for("the selected task is told with its tensors", "document.querySelectorAll('#task h3').length >= 4")
    text = driver.find_element(By.ID, "task").text
    task = script("return run.spans.task[arguments[0]]", span)
    holds("its number and kernel are told", f"task {task}" in text and script("return NAMES.names[run.spans.name[arguments[0]]]", span) in text)
    # What the orchestrator did for its submit is no waiting for a scheduler.
    waits = script("const t = arguments[0], s = run.spans, names = ['submit', 'params', 'lookups', 'edges', 'allocation'].map(n => ACTIVITIES[n]);"
                   "const all = [...s.begin.keys()].filter(i => s.task[i] === t), at = i => NAMES.names[s.name[i]];"
                   "const own = Math.max(run.tasks.submitted[t], ...all.filter(i => i < s.first[1] && names.includes(at(i))).map(i => s.end[i]));"
                   "const last = [...run.edges.producers.items.slice(run.edges.producers.first[t], run.edges.producers.first[t + 1])]"
                   "  .map(p => run.lastSpanOf(p)).filter(i => i >= 0).map(i => s.end[i]), ready = Math.max(own, ...last);"
                   "const sent = Math.min(...all.filter(i => i < run.firstCall && at(i) === ACTIVITIES.dispatch).map(i => s.begin[i]));"
                   "return {took: run.timeText(own - run.tasks.submitted[t]),"
                   "  sent: sent > ready && sent < Infinity ? run.timeText(sent - ready) : null}", task)
    holds("what its submit took is told", f", which took {waits['took']}\n" in text)
    told = re.search("waited (.*) for a scheduler\n", text)
    holds("it waits for a scheduler from then on", (told.group(1) if told else None) == waits["sent"])
    producers = script("const t = arguments[0]; return run.edges.producers.first[t + 1] - run.edges.producers.first[t]", task)
    holds("its producers are counted", f"{producers} producer" in text)
    # Zoom and pan.
    for button, grows in (("in", False), ("out", True)):
        before = script("const d = timeline.scale.domain(); return d[1] - d[0]")
        driver.find_element(By.CSS_SELECTOR, f"[data-do={button}]").click()
        after = script("const d = timeline.scale.domain(); return d[1] - d[0]")
        holds(f"the button {button} zooms", after > before if grows else after < before)
    script("timeline.show(0, run.end / 4)")
    before = script("return timeline.scale.domain()[0]")
    script("timeline.canvas.node().focus()")
    canvas.send_keys(Keys.ARROW_RIGHT)
    holds("an arrow key pans", script("return timeline.scale.domain()[0]") > before)
    driver.find_element(By.CSS_SELECTOR, "[data-do=all]").click()
    domain = script("return timeline.scale.domain()")
    holds("the whole run is shown again", close(domain[0], 0, 1e-6 * script("return run.end")) and close(domain[1], script("return run.end"), 1e-6 * script("return run.end")))
    # Without a mouse.
    script("document.querySelector('#search input').focus()")
    stops = []
    while len(stops) < 9 and "CANVAS" not in stops:
        keys(Keys.TAB)
        stops.append(script("const e = document.activeElement; return e.dataset.do || e.tagName"))
    holds(f"the buttons that zoom come before what they zoom, {stops}", stops[-1] == "CANVAS" and stops[1:4] == ["in", "out", "all"])
    for key in (Keys.ENTER, Keys.SPACE):
        link = script("const link = document.querySelector('#kernels tbody a'); link.focus(); return link.textContent")
        keys(key)
        holds("a key does what a click on a link does", script("return document.querySelector('#search input').value").strip('"') == link)
        script("document.querySelector('#search input').value = ''; document.querySelector('#search input').dispatchEvent(new Event('input'))")
    if script("const point = document.querySelector('#roofline g.point'); if (point) point.focus(); return point !== null"):
        keys(Keys.ENTER)
        holds("and on a point", script("return document.querySelector('#search input').value") != "")
        script("document.querySelector('#search input').value = ''; document.querySelector('#search input').dispatchEvent(new Event('input'))")
    # Search.
    kernel = result["stats"]["kernels"][0]
    field = driver.find_element(By.CSS_SELECTOR, "#search input[type=search]")
    field.send_keys(f'"{kernel["name"]}"')
    found = int(driver.find_element(By.CSS_SELECTOR, "#search output").text.split()[0])
    holds("the search finds each call of a kernel", found >= kernel["calls"])
    marked = script("return timeline.tracks.every(t => t.hits.every((hits, depth) => depth === 0 ||"
                    " hits.every((hit, i) => hit === Math.max(...t.hits[depth - 1].slice(8 * i, 8 * i + 8)))))")
    holds("what is found is marked at each level of detail", marked)
    field.send_keys(Keys.ENTER)
    holds("return goes to one of them", kernel["name"] == script("return NAMES.names[run.spans.name[timeline.selected]]"))
    field.clear()
    field.send_keys("0")
    field.send_keys(Keys.ENTER)
    holds("a number finds the task", script("return run.spans.task[timeline.selected]") == 0)
    canvas.send_keys(Keys.ESCAPE)
    holds("escape selects nothing", script("return timeline.selected") == -1)
    path = driver.find_element(By.CSS_SELECTOR, "#search input[name=path]")
    holds("there is a switch for the critical path where there is one", path.is_displayed() == bool(result["stats"]["path"]))
    if path.is_displayed():
        path.click()
        holds("the critical path can be hidden", script("return timeline.showsPath") is False)
        path.click()


def look_at_rest(result, names):
    most = {line["name"]: line["most"] for line in script(
        "return [...document.querySelectorAll('#memory path[data-line]')].map(p => ({name: p.dataset.line, most: +p.dataset.most}))")}
    holds("the window's line is as high as the document says", most.get("window slots in use", 0) == result["window_high_water"])
    holds("the heap's line is as high as the document says", most.get("heap in use", 0) == result["heap_high_water_bytes"])
    tops = script("return [...document.querySelectorAll('#memory path[data-line]')].map(p => p.getBBox().y)")
    holds("no line leaves its row", all(top >= 7.5 for top in tops))
    look_at_buffers(names)
    nodes = script("return [...document.querySelectorAll('#tasks-graph rect')].map(r => +r.dataset.count)")
    holds("the graph stands for each task", sum(nodes) == names["tasks"])
    edges = script("return run.edges.count")
    holds("the graph has each edge", edges == result["edges"])
    script("document.querySelector('#tasks-graph g.node').dispatchEvent(new Event('click'))")
    task = script("const box = document.querySelector('#tasks-graph g.node rect'); return box && box.dataset.task")
    holds("a click on a box tells of its task", task is None or f"task {task}" in driver.find_element(By.ID, "task").text)
    look_at_print()
    ink = script("return getComputedStyle(document.body).color")
    driver.find_element(By.ID, "theme").click()
    holds("the page has a dark and a light side", script("return getComputedStyle(document.body).color") != ink)
    driver.find_element(By.ID, "theme").click()
    colours = script("return [...new Set(NAMES.names)].map(colourOf)")
    holds("names that are not of waiting have colours of their own, whatever stands before them in a page",
          colours == script("return [...new Set(NAMES.names)].reverse().map(colourOf).reverse()"))


def look_at_print():
    # A4, landscape, less its margins.
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 1047, "height": 720, "deviceScaleFactor": 1, "mobile": False})
    wide = script("return [...document.querySelectorAll('svg, canvas, table')].filter(e => e.getBoundingClientRect().right > 1048)"
                  ".map(e => e.closest('section').id)")
    holds(f"nothing is cut off on paper, {wide}", wide == [])
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def look_at_buffers(names):
    script("timeline.show(0, run.end)")
    bars = script("return [...document.querySelectorAll('#buffers rect')].map(r => ({buffer: +r.dataset.buffer,"
                  " width: r.getBoundingClientRect().width, title: r.parentNode.querySelector('title').textContent,"
                  " begin: d3.select(r).datum().begin, end: d3.select(r).datum().end}))")
    domain = script("return timeline.scale.domain()")
    pixels = script("return timeline.width - LABEL_WIDTH") / (domain[1] - domain[0])
    for bar in bars:
        holds(f"buffer {bar['buffer']} is as long as its life",
              close(bar["width"], max(0.5, (bar["end"] - bar["begin"]) * pixels), 1))
        label = names["buffer_labels"].get(str(bar["buffer"]), f"buffer {bar['buffer']}")
        holds(f"buffer {bar['buffer']} is told with name, producer and last user",
              bar["title"].startswith(label) and bar["title"].count("task ") == 2)


def look_at_roofline(stats):
    reached = [k for k in stats["kernels"] if k["gops"] and k["intensity"]]
    points = {p["kernel"]: p for p in script(
        "return [...document.querySelectorAll('#roofline circle')].map(c => ({kernel: c.dataset.kernel,"
        " x: +c.getAttribute('cx'), y: +c.getAttribute('cy')}))")}
    holds("each kernel that computes is a point", sorted(points) == sorted(k["name"] for k in reached))
    if not points:
        return
    # The scales, by two lines whose rates are known: y from horizontal roofs, x from where slanted ones cross a height.
    lines = {line["roof"]: line for line in script(
        "return [...document.querySelectorAll('#roofline line.roof')].map(l => ({roof: l.dataset.roof, x1: +l.getAttribute('x1'),"
        " y1: +l.getAttribute('y1'), x2: +l.getAttribute('x2'), y2: +l.getAttribute('y2')}))")}
    memory = next(roof for roof in stats["roofs"] if "gbps" in roof)
    line = lines[memory["name"]]
    slope = (line["y1"] - line["y2"]) / (line["x2"] - line["x1"])  # pixels of a power of ten upwards by those to the right
    decade = script("const t = document.querySelector('#roofline .axis').querySelectorAll('.tick');"
                    "const at = i => +/translate\\(([^,]*)/.exec(t[i].getAttribute('transform'))[1];"
                    "return (at(1) - at(0)) / Math.log10(d3.select(t[1]).datum() / d3.select(t[0]).datum())")
    for kernel in reached:
        # How far above or below that roof it is, and where.
        point = points[kernel["name"]]
        above = math.log10(kernel["gops"] / (kernel["intensity"] * memory["gbps"]))
        at_roof = line["y1"] - (point["x"] - line["x1"]) * slope
        holds(f"{kernel['name']} is as far from the memory's roof as its numbers say",
              close((at_roof - point["y"]) / (slope * decade), above, 0.02))
    script("document.querySelector('#roofline g.point').dispatchEvent(new Event('click'))")
    found = script("return document.querySelector('#search output').textContent")
    holds("a click on a point finds the kernel's calls", int(found.split()[0]) == reached[0]["calls"])
    script("document.querySelector('#search input').value = ''; document.querySelector('#search input').dispatchEvent(new Event('input'))")


try:
    driver.get(pathlib.Path(sys.argv[1]).resolve().as_uri())
    look()
    if len(sys.argv) > 2:
        script("window.scrollTo(0, 0); for (const {timeline} of lanes) { timeline.select(-1); timeline.show(0, timeline.end); }")
        driver.set_window_size(1400, 1500)
        script("return new Promise(requestAnimationFrame)")
        driver.save_screenshot(sys.argv[2])
finally:
    driver.quit()
print(f"\n{passed} passed, {failed} failed")
sys.exit(failed != 0)
