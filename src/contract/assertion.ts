/**
 * The identity assertion: the gateway attests to an upstream who the caller is. A compact JWS (RFC 7515, HS256) that is
 * valid for seconds and bound to one audience, method and request target, so a captured assertion opens nothing else. Both
 * ends hold the same key, derived from the root of the installation for this audience alone, so that no service can speak to another. HMAC costs microseconds per request; a new ES256 signature would cost
 * more than the rest of the hot path.
 */
import { z } from 'zod';
import { equalInConstantTime } from './equal-in-constant-time.ts';
import { createHmacSha256 } from './hmac-sha256.ts';

const assertionLifetimeSeconds = 30;

const claims = z.strictObject({
  aud: z.string(),
  method: z.string(),
  target: z.string(),
  iat: z.int(),
  exp: z.int(),
  kind: z.enum(['api_key', 'api_client', 'bearer']),
  /** Key id or client id; a client's headers and all its tokens share it. */
  id: z.string(),
  /** All tenants of the credential, and those of them whose API access is off. */
  tenants: z.array(z.string()),
  tenants_disabled: z.array(z.string()),
  scopes: z.array(z.string()),
});

type AssertionClaims = z.infer<typeof claims>;

type RequestClaims = Pick<AssertionClaims, 'method' | 'target' | 'iat' | 'exp'>;

/** The authenticated caller. Callers and their lists are never changed once made, so what is made of them is cached by object. */
export type AssertedCaller = Pick<AssertionClaims, 'kind' | 'id'> &
  Readonly<Record<'tenants' | 'tenants_disabled' | 'scopes', readonly string[]>>;

/** Label of the key of one audience (SecretBox.derive). */
export const assertionKeyLabel = (audience: string): string => `assertion/${audience}`;

const header = Buffer.from(JSON.stringify({ alg: 'HS256', typ: 'orderpass-assertion+jwt' })).toString('base64url');

/** What is kept of a caller. The texts of its tenants are shared by all callers that have the same lists. */
type Made = {
  /** Its members as JSON: those before its tenants, and the three lists. */
  start: string;
  tenants: string;
  disabled: string;
  scopes: string;
  /** Its last assertion, since a busy caller repeats the same request several times within a second. */
  last: (Omit<RequestClaims, 'exp'> & { text: string }) | undefined;
};

/**
 * Bound on the callers whose last assertion is kept: it repeats all tenants of the caller, and a client makes as many callers as
 * its tokens have sets of scopes.
 */
const lastMax = 64;

/** `textOf`: a list as JSON. */
const describe = (aud: string, caller: AssertedCaller, textOf: (list: readonly string[]) => string): Made => {
  const { kind, id, tenants, tenants_disabled: disabled, scopes } = caller;
  return {
    start: JSON.stringify({ aud, kind, id }).slice(0, -1),
    tenants: textOf(tenants),
    disabled: textOf(disabled),
    scopes: JSON.stringify(scopes),
    last: undefined,
  };
};

export type SignAssertion = (caller: AssertedCaller, request: { method: string; target: string }) => string;

/** `key`: 32 bytes. `audience`: name of the upstream. Returns the value of the assertion header. */
export const createAssertionSigner = (deps: { key: Buffer; audience: string; now: () => number }): SignAssertion => {
  const mac = createHmacSha256(deps.key);
  const made = new WeakMap<AssertedCaller, Made>();
  const texts = new WeakMap<readonly string[], string>();
  const textOf = (list: readonly string[]): string => {
    const known = texts.get(list);
    if (known !== undefined) return known;
    const text = JSON.stringify(list);
    texts.set(list, text);
    return text;
  };
  const remember = (caller: AssertedCaller): Made => {
    const one = describe(deps.audience, caller, textOf);
    made.set(caller, one);
    return one;
  };
  /** Those that have a `last`; the oldest is at `next` once the list is full. */
  const kept: Made[] = [];
  let next = 0;
  const keep = (one: Made): void => {
    const oldest = kept[next];
    if (oldest !== undefined) oldest.last = undefined;
    kept[next] = one;
    next = (next + 1) % lastMax;
  };
  return (caller, { method, target }) => {
    const iat = Math.floor(deps.now() / 1000);
    const one = made.get(caller) ?? remember(caller);
    const { last } = one;
    if (last !== undefined && last.iat === iat && last.target === target && last.method === method) return last.text;
    const request: RequestClaims = { method, target, iat, exp: iat + assertionLifetimeSeconds };
    const lists = `"tenants":${one.tenants},"tenants_disabled":${one.disabled},"scopes":${one.scopes}`;
    const payload = `${one.start},${lists},${JSON.stringify(request).slice(1)}`;
    const input = `${header}.${Buffer.from(payload).toString('base64url')}`;
    const text = `${input}.${mac(input, 'base64url')}`;
    if (last === undefined) keep(one);
    one.last = { method, target, iat, text };
    return text;
  };
};

export type VerifyAssertion = (
  value: string | undefined,
  request: { method: string; target: string },
) => AssertedCaller | undefined;

/**
 * Returns the caller, or undefined for a value that is not a fresh assertion for exactly this request. `leewaySeconds`: how
 * far the clocks of two machines may differ.
 */
export const createAssertionVerifier = (deps: {
  key: Buffer;
  audience: string;
  now: () => number;
  leewaySeconds?: number;
}): VerifyAssertion => {
  const mac = createHmacSha256(deps.key);
  const leeway = deps.leewaySeconds ?? 5;
  return (value, request) => {
    if (value === undefined) return undefined;
    const parts = value.split('.');
    if (parts.length !== 3 || parts[0] !== header) return undefined;
    const expected = mac(`${parts[0]}.${parts[1]}`, 'base64url');
    if (!equalInConstantTime(parts[2] ?? '', expected)) return undefined;
    const parsed = claims.safeParse(parseJson(Buffer.from(parts[1] ?? '', 'base64url').toString('utf8')));
    if (!parsed.success) return undefined;
    const now = deps.now() / 1000;
    const { data } = parsed;
    if (data.aud !== deps.audience || data.method !== request.method || data.target !== request.target)
      return undefined;
    if (data.exp + leeway <= now || data.iat - leeway > now) return undefined;
    return data;
  };
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
