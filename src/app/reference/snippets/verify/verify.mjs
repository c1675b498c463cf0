import { createHmac, timingSafeEqual } from 'node:crypto';

/** `headers` as in request.headers, `body` exactly as it came (a Buffer), before anything parses it. */
export const verify = (secret, headers, body, now = Date.now() / 1000) => {
  const id = headers['webhook-id'] ?? '';
  const timestamp = headers['webhook-timestamp'] ?? '';
  if (id === '' || !/^\d+$/.test(timestamp) || Math.abs(now - Number(timestamp)) > 300) return false;
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
  return (headers['webhook-signature'] ?? '').split(' ').some((signature) => {
    const given = Buffer.from(signature.startsWith('v1,') ? signature.slice(3) : '', 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
};
