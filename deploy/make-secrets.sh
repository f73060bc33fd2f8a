#!/bin/sh
# Passwords for Redis and Flower, made once; nothing is printed and nothing that exists is replaced.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
if [ ! -e secrets/redis_password ]; then
    password=$(random)
    digest=$(printf %s "$password" | sha256sum | cut -d' ' -f1)
    printf %s "$password" > secrets/redis_password
    sed "s/PASSWORD_SHA256/$digest/" redis/users.acl > secrets/redis_users
    printf 'redis://recallite:%s@redis:6379/0' "$password" > secrets/broker_url
fi
[ -e secrets/flower_auth ] || printf 'recallite:%s' "$(random)" > secrets/flower_auth
# The containers read the mounted files as other users; on this host the folder keeps everybody else out.
chmod 0644 secrets/redis_users secrets/redis_password secrets/broker_url secrets/flower_auth
chmod 0700 secrets
