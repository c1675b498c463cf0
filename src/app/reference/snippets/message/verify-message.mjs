import { createHash, createPublicKey, timingSafeEqual, verify } from 'node:crypto';

const required = ['"@method"', '"@authority"', '"@path"', '"content-digest"', '"webhook-id"', '"webhook-timestamp"'];

/**
 * `keys`: those of /.well-known/webhook-signature-keys. `url`: the address of your endpoint, as you gave it.
 * `headers` as in request.headers, `body` exactly as it came (a Buffer).
 */
export const verifyMessage = (keys, url, headers, body, now = Date.now() / 1000) => {
  const input = /^sig=(\(([^()]*)\)(;.*))$/.exec(headers['signature-input']);
  const signature = /^sig=:([A-Za-z0-9+/=]+):$/.exec(headers.signature);
  if (input === null || signature === null) return false;
  const [, parameters, list, more] = input;
  const members = Object.fromEntries(
    more
      .replaceAll('"', '')
      .split(';')
      .map((member) => member.split('=')),
  );
  const isTimely = now >= Number(members.created) - 60 && now <= Number(members.expires);
  if (!isTimely || members.tag !== 'orderpass-webhook') return false;
  const key = keys.find(({ kid }) => kid === members.keyid);
  const covered = list.split(' ');
  const target = new URL(url);
  if (target.search !== '' && !covered.includes('"@query"')) return false;
  if (key === undefined || !required.every((name) => covered.includes(name))) return false;

  const digest = Buffer.from(`sha-256=:${createHash('sha256').update(body).digest('base64')}:`);
  const given = Buffer.from(headers['content-digest'] ?? '');
  if (given.length !== digest.length || !timingSafeEqual(given, digest)) return false;

  const derived = { '@method': 'POST', '@authority': target.host, '@path': target.pathname, '@query': target.search };
  const lines = covered.map((quoted) => {
    const name = quoted.slice(1, -1);
    return `${quoted}: ${derived[name] ?? headers[name]}`;
  });
  const base = Buffer.from([...lines, `"@signature-params": ${parameters}`].join('\n'));
  const hash = key.kty === 'EC' ? 'sha256' : null;
  const publicKey = { key: createPublicKey({ key, format: 'jwk' }), dsaEncoding: 'ieee-p1363' };
  return verify(hash, base, publicKey, Buffer.from(signature[1], 'base64'));
};
