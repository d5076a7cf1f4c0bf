"""``labelinf audit client``: somebody's own client, attacked."""
