/** Verification of deliveries (Standard Webhooks; section 12.3 of the interface) with WebCrypto. */
import { OrderpassError, WebhookError } from './errors.ts';
import type { WebhookEvent } from './types.ts';

export type VerifyOptions = {
  /** The secret of the endpoint; during a rotation the old one and the new one. */
  secret: string | readonly string[];
  /** Of the request: `request.headers` of Node, or a Headers object. */
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Exactly as it came, before anything parses it. */
  body: string | Uint8Array;
  /** Age of a delivery, by default 300 s, in both directions. */
  toleranceSeconds?: number;
  /** Unix seconds, in place of the clock. */
  now?: number;
};

const signaturesMax = 20;

/**
 * The event of a delivery whose signature and time are right; otherwise throws a WebhookError. Remember `id` of the event: a
 * delivery may come twice. Versions 1.x may add events, so a `switch` over `event` needs a default.
 */
export const verifyWebhook = async (options: VerifyOptions): Promise<WebhookEvent> => {
  const { toleranceSeconds = 300, now = Date.now() / 1000 } = options;
  const secrets = [options.secret].flat();
  if (secrets.length === 0) throw new OrderpassError('secret is missing');
  const id = headerOf(options.headers, 'webhook-id');
  const timestamp = headerOf(options.headers, 'webhook-timestamp');
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookError('webhook-timestamp is not a time');
  if (!(Math.abs(now - Number(timestamp)) <= toleranceSeconds))
    throw new WebhookError('webhook-timestamp is too old or too far ahead');
  const body = typeof options.body === 'string' ? encode(options.body) : options.body;
  const signed = join(encode(`${id}.${timestamp}.`), body);
  const signatures = headerOf(options.headers, 'webhook-signature')
    .split(' ', signaturesMax)
    .filter((one) => one.startsWith('v1,'))
    .flatMap((one) => decodeBase64(one.slice(3)) ?? []);
  let isValid = false;
  for (const secret of secrets) {
    const key = await importKey(secret);
    // `verify` compares in constant time.
    for (const signature of signatures) if (await crypto.subtle.verify('HMAC', key, signature, signed)) isValid = true;
  }
  if (!isValid) throw new WebhookError('no signature fits the secret');
  return readEvent(body);
};

type Bytes = Uint8Array<ArrayBuffer>;

const encode = (text: string): Bytes => new TextEncoder().encode(text);

const join = (a: Uint8Array, b: Uint8Array): Bytes => {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
};

const decodeBase64 = (text: string): Bytes | undefined => {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
};

const secretPrefix = 'whsec_';

const importKey = (secret: string): ReturnType<typeof crypto.subtle.importKey> => {
  const bytes = secret.startsWith(secretPrefix) ? decodeBase64(secret.slice(secretPrefix.length)) : encode(secret);
  if (bytes === undefined || bytes.length === 0) throw new OrderpassError('secret is empty or not base64');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
};

/** A header that is missing or given twice is refused. */
const headerOf = (headers: VerifyOptions['headers'], name: string): string => {
  const values =
    headers instanceof Headers
      ? [headers.get(name) ?? undefined]
      : Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? value : []));
  const [value] = values;
  if (values.length !== 1 || value === undefined || value === '') throw new WebhookError(`${name} is missing`);
  return value;
};

const readEvent = (body: Uint8Array): WebhookEvent => {
  try {
    const event: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (typeof event === 'object' && event !== null && typeof (event as { event?: unknown }).event === 'string')
      return event as WebhookEvent;
  } catch {
    // Below.
  }
  throw new WebhookError('the body is not an event');
};
