"""Table of known commands: their effects, the roles of their operands, the options that change the effect.

A line is `names | kind | roles | options`; an indented one continues the line before.

kind: of the effect by default: none, read, write (depends on the roles), execute, network, git,
    destructive, unknown
roles: of the operands, in order; the last is repeated. text (ignored),
    format (begins with a +), filter (a program for jq or yq), read,
    expands (read; behind an @, a list of more words), write (links followed), entry (the
    name itself is removed or replaced), to (the last operand is written, the others read), move (the same,
    the others removed), link, tree (removed with all that is inside), host, url, command (the rest is a
command),
    script (the rest is a shell script), own (judged by code: see `command_call.Special`)
options: `-abc` harmless letters, `-k:` takes an argument, `-k?` may have one attached; `--name`, `--name=`,
    `--name=?` likewise. `>` and a word: the option's effect on the command: write, read (its argument),
    names (its argument lists files to read), sends (its argument may name a file behind an @),
    walks (the present folder is read unless another is given),
    target (its argument is written, all operands are read), inplace, reading (operands are replaced, or only
    read), recursive (operands with all that is inside), script, or a kind.
    `*`: all other options are harmless.

Commands that are not listed count as unknown code.
"""

from __future__ import annotations

COMMANDS = r"""
true false : | none | text | *
echo | none | text | *
pwd times jobs fg bg disown dirs logout | none | text | *
exit return break continue shift umask getconf tty whoami id groups logname w uptime arch |
    none | text | -abcfghilnpqrstuvxwzGHSTVZ --help --version --name --user --group --groups --real --all
    --pretty --since
users who | read | read | -abdHlmpqrsTtu --help --version --all --count --heading
uname nproc hostid | none | text | *
wait | none | text | -nf -p:>unknown
sleep usleep | none | text | --help --version
seq factor expr basename dirname | none | text | *
type which whereis whatis apropos command-v | read | text | *
printenv locale tput | read | text | --null -0 --help --version -ackm
cal | none | text | -13jymhnABC
date | none | format | -uRI?d:r: --utc --universal --rfc-2822 --rfc-email --iso-8601=? --rfc-3339= --date=
    --reference= --debug --help --version -s:>unknown --set=>unknown -f:>read --file=>read
test [ | read | own | *
printf | none | own | *

cat tac nl head tail wc cut paste fold fmt pr expand unexpand rev column join comm tsort od hexdump xxd-read
    md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum base32 base64 basenc numfmt
    | read | read | * --files0-from=>names
strings | read | expands | *
du | read | read | * --files0-from=>names -X:>read --exclude-from=>read
ls dir vdir df stat readlink realpath namei cmp tree-read lsattr getfattr getfacl zcat bzcat xzcat
    zstdcat lz4cat zgrep zipinfo colordiff | read | read | * --files0-from=>names
tr | none | text | *
grep egrep fgrep | read | text,read | * -f:>read --file=>read --exclude-from=>read -e: --regexp= -r>walks
    -R>walks --recursive>walks --dereference-recursive>walks
ugrep zgrep bzgrep xzgrep | execute | read | *
rg | read | text,read | * --pre=>execute --hostname-bin=>execute -z>execute --search-zip>execute -e: --regexp=
    -f:>read --file=>read -g: --glob= -t: --type= -A: -B: -C: -m: -r: -j: -d: -M: -T: -E:
ag | read | text,read | * --pager=>execute -p:>read --path-to-ignore=>read
fd fdfind | read | text,read | * -x>execute -X>execute --exec>execute --exec-batch>execute -l>execute
    --list-details>execute
find | read | own | *
locate tree | read | read | -adfilpsughDFqNQrtcUvACSnJXxP:I:L:H: -o:>write --noreport --charset= --filelimit=
    --du --prune --dirsfirst --help --version --matchdirs --gitignore
file | read | read | * -C>unknown --compile>unknown -z>execute -Z>execute --uncompress>execute
    --uncompress-noreport>execute -f:>names --files-from=>names -m:>read
diff | read | read | * -l>execute --paginate>execute --to-file=>read --from-file=>read
    -X:>read --exclude-from=>read
sdiff | execute | read | *
sort | read | read | -bcCdfgiMhnRrVsmuz -k: -t: -S: -T:>write -o:>write --output=>write
    --compress-program=>execute --temporary-directory=>write --files0-from=>names --random-source=>read
    --batch-size= --parallel= --check=? --debug --key= --field-separator= --buffer-size= --sort=
    --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting
    --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort --stable --merge
    --unique --zero-terminated --help --version
uniq | read | read,write | -cdDiuzf:s:w: --count --repeated --all-repeated=? --skip-fields= --group=?
    --ignore-case --skip-chars= --unique --zero-terminated --check-chars= --help --version
shuf | read | read | -eizrn:o:>write --output=>write --echo --input-range= --head-count= --repeat
    --zero-terminated --random-source=>read --help --version -i:
sed gsed | read | own | *
awk gawk mawk nawk | read | own | *
jq | read | filter,read | * -f:>read --from-file=>read -L:>read --library-path=>read
yq | read | filter,read | -PrMCNej0 -o: -p: -I: -y -Y --output-format= --input-format= --prettyPrint
    --raw-output --no-colors --colors --exit-status --unwrapScalar=? -i>inplace --inplace>inplace
    --in-place>inplace -s:>unknown --split-exp=>unknown
xmllint | execute | read | *
xxd | read | read,write | -abCeEiprudc:g:l:n:o:s:R:
iconv | read | read | -lcsf:t:o:>write --from-code= --to-code= --output=>write --list --silent --verbose
bat batcat | read | read | -pnAPuH:l:r: --plain --number --show-all --language= --line-range= --style=
    --color= --theme= --highlight-line= --wrap= --tabs= --decorations= --paging=
less more most | read | own | -NSRXFEeiIGgJMmnpQqsuUwW --LINE-NUMBERS --chop-long-lines --RAW-CONTROL-CHARS
    --no-init --quit-if-one-screen
man | read | read | -kfawW -l
info | read | read | -aw -f:>read --file=>read
ps | read | own | -aeflwHLTNMcyjAFdVZu:U:p:t:g:G:s:q:C:o:O:k: --forest --sort= --no-headers --headers --format= --pid=
    --ppid= --user= --tty= --sid= --cumulative --deselect --width= --help=? --version
pgrep pidof top free vmstat lscpu lsblk lsof lsmod lspci lsusb iostat mpstat nmap-none uptime ss netstat |
    read | text | -aefluxwHLTNSMcrhygGtmnvobdsVXpAZFO:C:U: --forest --sort= --no-headers --help --version
env-read | read | text | *

touch | write | write | -acmhfd:r:t: --no-create --date= --reference=>read --time= --no-dereference --help
    --version
mkdir | write | write | -pvm: --parents --verbose --mode= --help --version
rmdir | write | entry | -pv --parents --verbose --ignore-fail-on-non-empty --help --version
rm | write | entry | -fiIvd -r>recursive -R>recursive --recursive>recursive --force --interactive=? --verbose
    --dir --preserve-root=? --one-file-system --no-preserve-root>destructive --help --version
unlink | write | entry | --help --version
shred | destructive | write | *
truncate | write | write | -cos:r: --no-create --io-blocks --reference=>read --size= --help --version
tee | write | write | -aip --append --ignore-interrupts --output-error=? --help --version
sponge | write | write | -a
cp | write | to | -fiHLnuvxT -b>unknown -S:>unknown --force --interactive --no-clobber --verbose --update=?
    --no-target-directory -a>reshapes -r>reshapes -R>reshapes -d>reshapes -P>reshapes -p
    --archive>reshapes --recursive>reshapes --preserve=? --no-dereference>reshapes --dereference -t:>target
    --target-directory=>target -l>unknown -s>unknown --link>unknown --symbolic-link>unknown --reflink=?
    --sparse= --help --version --strip-trailing-slashes --one-file-system
mv | write | move | -finuvT --force --interactive --no-clobber --verbose --update=? --no-target-directory
    --strip-trailing-slashes -t:>unknown --target-directory=>unknown --help --version
ln | write | link | -sfnvTirL --symbolic --force --no-dereference --verbose --relative --no-target-directory
    --interactive --logical --help --version
install | write | to | -cCdDpvTg:o:m: --directory>writing -d>writing --mode= --owner= --group= --verbose
    --preserve-timestamps --compare --no-target-directory -s>execute --strip>execute --strip-program=>execute
    -t:>target --target-directory=>target --help --version
chmod | write | text,write | -cfvR>unknown -R>unknown --recursive>unknown --changes --silent --quiet --verbose
    --reference=>unknown --help --version -rwxXstugo
chown chgrp chattr setfacl setfattr chcon setcap | unknown | text,write | *
mkfifo | write | write | -m: --mode= --help --version
mktemp | write | own | -duqtp:>write --tmpdir=? --directory --dry-run --quiet --suffix= --help --version
dd | write | own | *
tar bsdtar gtar | write | own | *
zip | write | write,read | -rqj9876543210vyDX -x: -i:
unzip | write | own | *
gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd lz4 compress uncompress pigz | write | entry |
    -123456789fkqvn -r>unknown -c>reading --stdout>reading --to-stdout>reading -l>reading --list>reading
    -t>reading --test>reading -d --decompress --uncompress --keep --force --quiet --verbose --fast --best
    --help>reading --version>reading
patch | write | own | *
split csplit cpio pax ar rsync-local 7z 7za 7zr rar unrar unar | unknown | text | *
ed ex vi vim nvim view nano emacs emacsclient pico joe micro helix hx code subl gedit | unknown | text | *
screen tmux at atq atrm batch cron crontab systemctl service journalctl launchctl systemd-run loginctl busctl
    dbus-send gdbus nsenter unshare bwrap firejail docker-init init telinit reboot shutdown poweroff halt
    mount umount losetup mkfs fdisk parted swapon insmod modprobe rmmod sysctl iptables nft ip ifconfig route
    useradd usermod userdel passwd su runuser pkexec visudo newgrp sg login script expect unbuffer osascript
    open xdg-open xclip pbcopy wl-copy gpg openssl ssh-add ssh-agent ssh-keygen keyctl strace ltrace gdb lldb
    perf bpftrace | unknown | text | *
hostname kill killall pkill skill snice renice taskset chrt | unknown | text | *
docker docker-compose podman buildah skopeo nerdctl kubectl helm minikube oc terraform tofu pulumi ansible
    ansible-playbook vagrant aws gcloud az gsutil heroku flyctl vercel netlify | unknown | text | *

curl | network | url | -sSLfkIivgGNjJ0123456#X:A:u:e:m:w:b:r: -x:>network
    --proxy=>network -H:>sends -d:>sends -F:>sends -o:>write --output=>write -O>writes-name
    --remote-name>writes-name -T:>read --upload-file=>read -D:>write --dump-header=>write -c:>write
    --cookie-jar=>write --trace=>write --trace-ascii=>write --silent --show-error --location --fail --insecure
    --head --include --verbose --request= --header=>sends --data=>sends --data-raw= --data-binary=>sends
    --data-urlencode=>sends --data-ascii=>sends --json=>sends --user= --user-agent= --max-time=
    --connect-timeout= --retry= --write-out= --form=>sends --compressed --get --url=>network
    --globoff --no-progress-meter --progress-bar --ipv4 --ipv6 --http1.1 --http2
wget | network | url | -qvScNrlkpEHnd -O:>write --output-document=>write -o:>write --output-file=>write
    -P:>write --directory-prefix=>write --spider --quiet --timeout= --tries= -T:t:U: --header= --user-agent=
    --no-check-certificate --no-verbose --continue
http https xh httpie aria2c lynx links w3m elinks | network | url | * --output=>unknown -o:>unknown
    --download>unknown -d>unknown
nc ncat netcat socat telnet ftp sftp tftp ping ping6 traceroute tracepath mtr dig nslookup host whois arp nmap
    | network | host | * -e:>execute -c:>execute --exec=>execute --sh-exec=>execute -f:>unknown
ssh mosh scp rsync rclone sshfs | network | host | * -o:>execute -e:>execute --rsh=>execute
    --rsync-path=>execute -F:>execute -S:>execute
gh glab hub | network | text | *
git | none | own | *

pip pip3 pipx uv uvx poetry pdm conda mamba micromamba npm npx pnpm pnpx yarn bun bunx deno gem bundle bundler
    composer cargo rustup go mvn gradle mix rebar3 stack cabal opam nuget dotnet swift pod brew apt apt-get
    aptitude dpkg yum dnf zypper pacman apk snap flatpak nix nix-env nix-shell nix-build mise asdf volta nvm
    pyenv rbenv hatch tox nox pre-commit corepack | execute network | text | *
make gmake cmake ninja meson bazel just task rake ant sbt scons waf autoconf automake configure gcc g++ cc c++
    clang clang++ ld as rustc javac kotlinc ghc ocaml tsc esbuild webpack vite rollup | execute | text | *
pytest py.test python-m unittest jest vitest mocha ava karma phpunit rspec ctest cypress playwright coverage
    mypy pyright ruff black isort flake8 pylint bandit eslint prettier stylelint biome rubocop golangci-lint
    gofmt goimports rustfmt clippy shellcheck shfmt ansible-lint | execute | text | *
python python2 python3 pypy pypy3 node nodejs ts-node tsx perl ruby irb php lua luajit java scala kotlin
    groovy julia R Rscript erl elixir iex guile racket tclsh wish sbcl clojure swipl octave gnuplot sqlite3
    psql mysql mongo redis-cli bc dc m4 | execute | text | *
ack | execute | text | *
pwsh powershell cmd fish zsh ksh csh tcsh mksh yash rbash nu elvish xonsh | unknown | text | *
bash sh dash ash | execute | own | *

nohup | none | command | --help --version
nice | none | command | -n: --adjustment= -0123456789 --help --version
ionice | none | command | -c:n:t --class= --classdata= --ignore -p:>unknown --pid=>unknown -P:>unknown
    -u:>unknown
setsid | none | command | -cfw --ctty --fork --wait --help --version
stdbuf | none | command | -i:o:e: --input= --output= --error= --help --version
timeout gtimeout | none | text,command | -k:s:v --kill-after= --signal= --foreground --preserve-status
    --verbose --help --version
time | none | command | -pv -f: --format= --verbose --portability -o:>write --output=>write
chronic cgexec catchsegv | none | command | --help
linux32 linux64 setarch | none | command | --help
env | read | own | -i0v --ignore-environment --null --debug -u: --unset= -C:>unknown --chdir=>unknown
    -S:>env-string --split-string=>env-string --help --version --block-signal=? --default-signal=?
    --ignore-signal=? --list-signal-handling
xargs | none | own | -0rtxo --null --no-run-if-empty --verbose --exit -n:L:P:s:d:a:>read --max-args=
    --max-lines=? --max-procs= --max-chars= --delimiter= --arg-file=>read -E: -e? -l? -I:>replace -i?>replace
    --replace=?>replace -p --interactive --show-limits --help --version
command | none | command | -p -v>reading -V>reading
builtin | none | command | -
exec | none | command | -cla:
sudo doas sudoedit | unknown | command | -nSEHAkKbPu:g:C:h:p:r:t:U:T: --user= --group= --preserve-env=?
    --non-interactive --stdin --set-home
chroot | unknown | text,command | --userspec= --groups= --skip-chdir
flock | write | write,command | -snxueoFEw: --shared --nonblock --exclusive --unlock --close --no-fork
    --verbose --wait= --timeout= --conflict-exit-code= -c:>script --command=>script
watch | none | script | -bcdegtxn:>unknown -n: --interval= --no-title --errexit --chgexit --color
    --differences=?
parallel sem entr inotifywait watchexec nodemon | execute | text | *
busybox toybox | none | command | --list>reading --help>reading

cd pushd popd | none | own | -LPe@n
eval | none | script | -
source . | execute | text | *
trap | none | own | -lp
alias unalias bind complete compgen compopt enable shopt fc history caller callable logger suspend ulimit |
    unknown | text | *
hash | unknown | text | -rdlt
read | none | own | -rsed:n:N:t:p:a:u:
mapfile readarray | none | own | -td:n:O:s:u:
export readonly local declare typeset unset let getopts set | none | own | *
help | none | text | *
"""
