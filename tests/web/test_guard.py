"""Who may ask, how much they may send, and what the page is allowed to do."""

import errno

import pytest
from fastapi.testclient import TestClient

from lopsided.web.app import ServerSettings, create_app
from lopsided.web.guard import Access, is_loopback
from lopsided.web.limits import Limits


def client(access=None, **limits):
    settings = ServerSettings(access or Access(), Limits(**limits), spare_worker=False)
    return TestClient(create_app(settings), base_url="http://localhost:8000", follow_redirects=False)


@pytest.fixture(scope="module")
def local():
    return client()


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:9999", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST", "[0:0:0:0:0:0:0:1]", "[::1]"]
)
def test_names_of_this_machine_are_served(local, host) -> None:
    assert local.get("/api/jobs", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "localhost.evil.example", "192.168.1.7", "", "[::1", "127.0.0.1.nip.io"),
        *("user@localhost", "user:word@localhost:8000", "@localhost", "localhost@evil.example"),
        *("localhost:99999", "localhost:0", "localhost:", "localhost:80:80", "localhost:-1", "localhost:8e3"),
        *("localhost.", "localhost.:8000", ".localhost", "localhost/", "localhost?x", "localhost#x", "localhost "),
        *("localhost,evil.example", "localhost evil.example", "http://localhost", "loc\talhost", "l%6fcalhost"),
        *("127.1", "2130706433", "0x7f.0.0.1", "127.0.0.01", "0.0.0.0", "127.0.0.2", "[127.0.0.1]", "[::]"),
        *("[::1%25lo]", "[::1]x", "[[::1]]", "::1", "[::ffff:7f00:1]", "[]", "[::1]:", "[::1]:99999"),
    ],
)
def test_other_names_are_refused(local, host) -> None:
    for path in ("/", "/static/js/main.js", "/api/jobs", "/api/openapi.json"):
        assert local.get(path, headers={"Host": host}).status_code in (400, 403)


@pytest.mark.parametrize(
    "origin",
    [
        *("http://evil.example", "null", "http://localhost:8001", "http://localhost", "http://[", "", "localhost:8000"),
        *(
            "https://localhost:8000",
            "ftp://localhost:8000",
            "file://localhost:8000",
            "chrome-extension://localhost:8000",
        ),
        *(
            "http://user@localhost:8000",
            "http://localhost:8000/",
            "http://localhost:8000.evil.example",
            "//localhost:8000",
        ),
        *("http://127.0.0.1:8000", "http://localhost.:8000", "http://localhost:8000 http://evil.example"),
    ],
)
def test_requests_of_other_pages_are_refused(local, origin) -> None:
    answer = local.post("/api/collapse/forecast", json={"counts": "9,8", "tau": 3}, headers={"Origin": origin})
    assert answer.status_code in (400, 403)
    assert local.post(
        "/api/collapse/forecast", json={"counts": "9,8", "tau": 3}, headers={"Origin": "http://localhost:8000"}
    ).is_success


def test_cross_site_requests_are_refused_without_an_origin_too(local) -> None:
    assert local.get("/api/jobs", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert local.get("/api/jobs", headers={"Sec-Fetch-Site": "same-site"}).status_code == 403
    assert local.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200  # a link may lead here

    assert local.get("/api/jobs", headers={"Sec-Fetch-Site": "nowhere"}).status_code == 403
    for mode in ("no-cors", "cors", "websocket"):  # but not a picture, a script or a program of another page
        asked = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode}
        assert local.get("/", headers=asked).status_code == 403


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Host", ["localhost", "evil.example"]),
        ("Host", ["localhost", "localhost"]),
        ("Origin", ["http://localhost:8000", "http://evil.example"]),
        ("Origin", ["http://evil.example", "http://localhost:8000"]),
        ("Sec-Fetch-Site", ["cross-site", "none"]),
        ("Sec-Fetch-Mode", ["navigate", "cors"]),
        ("Content-Length", ["0", "9"]),
    ],
)
def test_what_decides_is_said_once(name, values) -> None:
    """Below the client, which would not send them: the application itself is asked."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    sent = []

    async def ask() -> None:
        headers = [(b"host", b"localhost:8000")] if name != "Host" else []
        headers += [(name.lower().encode(), value.encode()) for value in values]
        scope = {"type": "http", "method": "GET", "path": "/api/jobs", "raw_path": b"/api/jobs", "query_string": b""}

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message) -> None:
            sent.append(message)

        app = create_app(ServerSettings(spare_worker=False))
        await app(scope | {"scheme": "http", "headers": headers, "root_path": "", "http_version": "1.1"}, receive, send)

    with ThreadPoolExecutor(1) as aside:  # a browser test in this process may have left a loop running here
        aside.submit(lambda: asyncio.run(ask())).result()
    assert sent[0]["status"] == 400


def test_beyond_loopback_addresses_and_the_own_name_are_known() -> None:
    far = Access("0.0.0.0", "word", frozenset({"box"}))
    assert all(far.knows(host) for host in ("box", "BOX:8000", "10.0.0.4", "[fe80::1]:8000", "localhost"))
    assert not any(
        far.knows(host) for host in ("box.evil.example", "box.", "me@box", "10.0.0.4:99999", "10.0.0.4.nip.io")
    )
    assert Access("::1").knows("[0:0::1]")
    assert Access("0:0:0:0:0:0:0:1").knows("[::1]:9")
    assert Access("lab.example", "word").knows("LAB.example:80")


def test_behind_a_proxy_with_tls_the_scheme_is_that_of_the_page() -> None:
    app = create_app(ServerSettings(spare_worker=False))
    for scheme, other in (("https", "http"), ("http", "https")):
        local = TestClient(app, base_url=f"{scheme}://localhost")
        assert local.get("/api/jobs", headers={"Origin": f"{scheme}://localhost"}).status_code == 200
        assert local.get("/api/jobs", headers={"Origin": f"{other}://localhost"}).status_code == 403


def test_token_once_in_the_address_then_in_a_cookie() -> None:
    far = client(Access("0.0.0.0", "secret-word"))
    assert far.get("/").status_code == 403
    assert far.get("/?token=other").status_code == 403
    assert far.get("/api/jobs?token=secret-word").status_code == 403  # only the page takes it, not the API
    for way in ("Bearer", "bearer"):  # its case means nothing
        assert far.get("/api/jobs", headers={"Authorization": f"{way} secret-word"}).status_code == 200
    assert far.get("/api/jobs", headers={"Authorization": "Bearer secret"}).status_code == 403
    answer = far.get("/?token=secret-word")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert cookie.startswith("lopsided-token-8000=")
    assert far.get("/api/jobs").status_code == 200
    assert far.get("/api/jobs", headers={"Host": "10.0.0.4:8000"}).status_code == 200
    assert far.get("/api/jobs", headers={"Host": "localhost:8001"}).status_code == 403  # the cookie of another server
    assert far.get("/api/jobs", headers={"Host": "evil.example"}).status_code == 403


@pytest.mark.parametrize(
    "beside", ["foo[bar]=1; {}", "a=b=c;  {} ; é=x", 'x="; {}', "{}; {{}}", "lopsided-token-8000=old; {}", ";;{};"]
)
def test_cookies_as_browsers_send_them(beside) -> None:
    far = client(Access("127.0.0.1", "a/b=c"))
    named = far.get("/?token=a%2Fb%3Dc").headers["set-cookie"].partition(";")[0]
    far.cookies.clear()
    header = {"Cookie": beside.format(named).encode("latin-1")}
    assert far.get("/api/jobs", headers=header).status_code == 200
    assert far.get("/api/jobs", headers={"Cookie": "foo[bar]=1; lopsided-token-80=a/b=c"}).status_code == 403


@pytest.mark.parametrize("place", [0, 1, 2])
def test_cookies_in_several_headers_are_one_list(place) -> None:
    """As HTTP/2 clients and proxies send them."""
    far = client(Access("127.0.0.1", "word"))
    cookies = ["a=b", "c=d"]
    cookies.insert(place, "lopsided-token-8000=word")
    assert far.get("/api/jobs", headers=[("Cookie", cookie) for cookie in cookies]).status_code == 200
    assert far.get("/api/jobs", headers=[("Cookie", cookie) for cookie in ("a=b", "c=word")]).status_code == 403


def test_a_full_disk_refuses_an_upload_in_one_sentence_and_leaves_no_parts(monkeypatch, tmp_path) -> None:
    def full(source, target, *more):
        target.write(b"part")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with client() as local:
        monkeypatch.setattr("lopsided.web.uploads.shutil.copyfileobj", full)
        answer = local.post("/api/uploads", files={"file": ("a.csv", b"a,y\n1,0\n")})
        assert answer.status_code == 507
        assert "No space left" in answer.json()["error"]
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
        monkeypatch.setattr("starlette.datastructures.UploadFile.write", _full_write)
        answer = local.post("/api/uploads", files={"file": ("a.csv", b"a,y\n1,0\n")})  # while the form is parsed
        assert answer.status_code == 507


async def _full_write(upload, data) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_the_sum_of_parallel_uploads_is_limited() -> None:
    crowd = client(uploads_at_once=0)
    assert crowd.post("/api/uploads", files={"file": ("a.csv", b"a,y\n1,0\n")}).status_code == 429
    with client(uploads_at_once=1) as alone:
        for _ in range(3):  # each gives its place back, also a refused one
            assert alone.post("/api/uploads", files={"file": ("a.csv", b"a,y\n1,0\n")}).status_code == 200
            assert alone.post("/api/uploads", files={"file": ("a.pkl", b"")}).status_code == 422


def test_no_upload_is_deleted_under_a_waiting_job() -> None:
    with client(uploads_kept=2, jobs_running=0) as local:
        first = local.post("/api/uploads", files={"file": ("a.csv", b"a,y\n1,0\n")}).json()["id"]
        job = local.post("/api/audit/run", json={"upload": first}).json()["id"]
        others = [local.post("/api/uploads", files={"file": ("b.csv", b"a,y\n1,0\n")}).json()["id"] for _ in range(3)]
        uploads = local.app.state.uploads
        assert uploads.find(first).path.exists()
        assert not local.post(f"/api/uploads/{others[0]}/inspect").is_success
        local.post(f"/api/jobs/{job}/cancel")
        for _ in range(2):
            local.post("/api/uploads", files={"file": ("c.csv", b"a,y\n1,0\n")})
        assert not local.post(f"/api/uploads/{first}/inspect").is_success


@pytest.mark.parametrize("room", ["audit/run", "trial/run", "memorisation/score", "uploads/{}/inspect"])
def test_no_upload_is_deleted_under_a_job_that_came_while_another_was_copied(room, monkeypatch) -> None:
    """A large file is copied for seconds, and what is in use may change meanwhile."""
    from lopsided.web import uploads as module

    copy = module.shutil.copyfileobj
    with client(uploads_kept=1, jobs_running=0) as local:
        first = local.post("/api/uploads", files={"file": ("a.csv", b"a,y\n1,0\n")}).json()["id"]

        def slow(source, target) -> None:
            copy(source, target)
            body = None if "inspect" in room else {"upload": first}
            assert local.post(f"/api/{room.format(first)}", json=body).is_success

        monkeypatch.setattr(module.shutil, "copyfileobj", slow)
        local.post("/api/uploads", files={"file": ("b.csv", b"a,y\n1,0\n")})
        kept = local.app.state.uploads.find(first).path
        assert kept.exists()
        assert kept in local.app.state.jobs.files_in_use()


def test_no_upload_is_deleted_under_a_running_or_paused_job() -> None:
    from lopsided.web.jobs.job import State

    with client(uploads_kept=1, jobs_running=0) as local:
        for state in (State.RUNNING, State.PAUSED):
            first = local.post("/api/uploads", files={"file": ("a.csv", b"a,y\n1,0\n")}).json()["id"]
            job = local.app.state.jobs.job(local.post("/api/audit/run", json={"upload": first}).json()["id"])
            job.state = state
            local.post("/api/uploads", files={"file": ("b.csv", b"a,y\n1,0\n")})
            assert local.app.state.uploads.find(first).path.exists()
            job.state = State.CANCELLED
            local.post("/api/uploads", files={"file": ("c.csv", b"a,y\n1,0\n")})
            assert local.post(f"/api/uploads/{first}/inspect").status_code == 404


def test_loopback_addresses() -> None:
    assert [is_loopback(host) for host in ("localhost", "127.0.0.1", "127.8.8.8", "::1")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "example.org", "")] == [False] * 5


def test_bodies_are_bounded_whatever_they_claim() -> None:
    small = client(body_bytes=200)
    long = b'{"counts": "' + b"9," * 400 + b'9"}'
    kind = {"Content-Type": "application/json"}
    assert small.post("/api/collapse/forecast", content=long, headers=kind).status_code == 413
    unknown = small.post("/api/collapse/forecast", content=iter([long[:300], long[300:]]), headers=kind)
    assert unknown.status_code == 413
    assert "error" in unknown.json()
    uploads = client(upload_bytes=1000)
    assert uploads.post("/api/uploads", files={"file": ("a.csv", b"x" * 2000)}).status_code == 413


def test_headers_forbid_inline_scripts_frames_and_guessing(local) -> None:
    for path in ("/", "/static/style.css", "/api/jobs", "/nothing"):
        headers = local.get(path).headers
        policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["connect-src"] == "'self'"
        assert "unsafe" not in headers["content-security-policy"]
        assert policy["frame-ancestors"] == "'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/js/rooms", "/app.py", "/docs"],
)
def test_only_the_pages_own_files_are_served(local, path) -> None:
    assert local.get(path).status_code == 404


def test_files_are_packed_and_asked_for_once(local) -> None:
    first = local.get("/static/plotly.js")
    assert first.headers["content-encoding"] == "gzip"
    assert local.get("/static/plotly.js", headers={"If-None-Match": first.headers["etag"]}).status_code == 304
    assert local.get("/", headers={"Accept-Encoding": "identity"}).text.startswith("<!doctype html>")


def test_uploads_keep_nothing_of_the_clients_path(tmp_path) -> None:
    with client(uploads_kept=2) as local:
        for name in ("../../evil.csv", "C:\\secrets\\a.csv", "c.csv"):
            kept = local.post("/api/uploads", files={"file": (name, b"a,y\n1,0\n")}).json()
            assert "/" not in kept["name"]
            assert "\\" not in kept["name"]
        uploads = local.app.state.uploads
        folder = uploads.find(kept["id"]).path.parent
        assert len(list(folder.iterdir())) == 2  # the oldest has gone
        refused = local.post("/api/uploads", files={"file": ("model.pkl", b"x")})
        assert refused.status_code == 422
        assert "model.pkl" in refused.json()["error"]
        assert local.post(f"/api/uploads/{'0' * 32}/inspect").status_code == 404
    assert not folder.exists()


def test_counts_are_never_taken_for_a_file(local, tmp_path) -> None:
    (tmp_path / "counts.csv").write_text("9\n8\n")
    for text in (str(tmp_path / "counts.csv"), "counts.csv", "../counts.txt"):
        answer = local.post("/api/collapse/forecast", json={"counts": text, "tau": 3})
        assert answer.status_code == 422
        assert "Expected counts such as" in answer.json()["error"]
