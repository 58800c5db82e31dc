"""Programs by their part in a chain: those that reveal nothing, that send, that fetch, that run files."""

from __future__ import annotations

from sandbox.policy.shell.parsing.syntax import parse_word_set

MEASURING = parse_word_set("""
    wc ls dir vdir stat file du test [ realpath readlink basename dirname sha1sum sha224sum sha256sum
    sha384sum sha512sum md5sum b2sum cksum find fd chmod chown touch rm unlink shred cmp mkdir list echo
    printf true ssh-keygen openssl-version which type cd export unset
""")
"""Programs that name or measure files: their output holds none of the content. (What `echo` prints of variables
that hold a secret comes by its sources, see CARRYING.)"""

CARRYING = parse_word_set("""
    echo printf export
""")
"""Those of MEASURING that do print what other commands gave them."""

SENDERS = parse_word_set("""
    curl wget http https xh httpie nc ncat netcat socat telnet ftp sftp ssh scp rsync rclone sshfs mosh mail
    mailx sendmail mutt swaks lftp aws gsutil gcloud az s3cmd mc gh glab hub dig nslookup host ping twine
    npm yarn pnpm cargo gem docker podman kubectl transfer croc wormhole vercel netlify heroku flyctl
    pastebinit openssl websocat irc telegram-send
""")
"""Programs that can carry data to another machine. What else uses the network is known by its effects."""

LOCAL_VERBS = parse_word_set("""
    install i ci run test build exec ls list version --version config init ps images logs start stop compose
    up down check clippy fmt dgst enc x509 genrsa req rsa rand auth pull fetch status describe get audit
    genpkey pkey verify passwd ec pkcs12 add remove update outdated doc
""")
"""First words after which such a program with many verbs sends nothing of the files that it is given."""

WITH_VERBS = parse_word_set("""
    npm yarn pnpm cargo gem docker podman kubectl openssl heroku flyctl twine gcloud az gh glab hub
""")
"""Programs with many verbs, some of which send."""

FETCHERS = parse_word_set("""
    curl wget http https xh aria2c axel scp sftp ftp lftp nc ncat netcat
""")
"""Programs whose output or files come from another machine."""

INSTALLERS = parse_word_set("pip pip3 uv poetry apt apt-get conda brew go mvn gradle")
"""Programs that fetch packages, and send nothing of the files that they are given."""

SHELLS = parse_word_set("bash sh dash zsh ksh ash fish")
PYTHONS = parse_word_set("python python2 python3 pypy pypy3")

RUNNERS = (
    SHELLS
    | PYTHONS
    | parse_word_set("node nodejs deno bun perl ruby php lua source . eval pwsh osascript exec")
)
"""Programs that run a file, or their input."""

INLINE = {"node": "-e", "nodejs": "-e", "deno": "eval", "bun": "-e", "perl": "-e", "ruby": "-e", "php": "-r"}
"""Options after which code in a language without a parser here stands."""

FOLDER_COPIERS = parse_word_set("""
    tar zip cp rsync scp rclone 7z cpio aws gsutil docker
""")
"""Programs that take a folder with all that is inside."""

COMMITTING = parse_word_set("""
    commit merge cherry-pick rebase am revert
""")
"""Subcommands of git that run hooks and write history."""

NETWORK_MODULES = parse_word_set("""
    requests httpx urllib.request urllib3 http.client aiohttp socket smtplib ftplib paramiko boto3
    botocore websocket websockets telnetlib xmlrpc.client pycurl slack_sdk google.cloud azure.storage
    dns.resolver tweepy telegram discord fabric asyncio.open_connection
""")
"""Modules of Python by which a program talks to other machines."""

RUNNING_CALLS = parse_word_set("""
    os.system os.popen subprocess.run subprocess.call subprocess.check_call subprocess.Popen
    subprocess.check_output subprocess.getoutput subprocess.getstatusoutput shell
    asyncio.create_subprocess_shell asyncio.create_subprocess_exec pty.spawn commands.getoutput
""")
"""Calls of Python that run a command line; `shell` is the tool in the kernel."""

INTERESTING = (
    SENDERS
    | FETCHERS
    | SHELLS
    | PYTHONS
    | frozenset(INLINE)
    | parse_word_set("""
    git chmod crontab history unset export source . eval exec pre-commit husky lefthook journalctl env xargs timeout
    gtimeout nohup nice ionice setsid stdbuf time sudo doas command builtin flock watch parallel busybox
""")
)
"""Programs whose calls are looked at in full: those of the tables, and wrappers of others."""

_READING_VERBS = parse_word_set("status diff log show blame grep ls-files rev-parse branch describe")

HARMLESS_STARTS = {("python", "-m"), ("python3", "-m")} | {("git", verb) for verb in _READING_VERBS}
"""The most frequent calls of INTERESTING programs, which are no step of a chain."""
