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

/** The authenticated caller. Callers are never changed once made, so an assertion can be cached by object. */
export type AssertedCaller = Pick<AssertionClaims, 'kind' | 'id' | 'tenants' | 'tenants_disabled' | 'scopes'>;

/** Label of the key of one audience (SecretBox.derive). */
export const assertionKeyLabel = (audience: string): string => `assertion/${audience}`;

const header = Buffer.from(JSON.stringify({ alg: 'HS256', typ: 'orderpass-assertion+jwt' })).toString('base64url');

/** The last assertion for a caller. A busy caller repeats the same request several times within a second. */
type Made = Omit<RequestClaims, 'exp'> & {
  /** The members that describe the caller, as JSON. */
  members: string;
  text: string;
};

const membersOf = (aud: string, { kind, id, tenants, tenants_disabled, scopes }: AssertedCaller): string =>
  JSON.stringify({ aud, kind, id, tenants, tenants_disabled, scopes }).slice(1, -1);

export type SignAssertion = (caller: AssertedCaller, request: { method: string; target: string }) => string;

/** `key`: 32 bytes. `audience`: name of the upstream. Returns the value of the assertion header. */
export const createAssertionSigner = (deps: { key: Buffer; audience: string; now: () => number }): SignAssertion => {
  const mac = createHmacSha256(deps.key);
  const made = new WeakMap<AssertedCaller, Made>();
  return (caller, { method, target }) => {
    const iat = Math.floor(deps.now() / 1000);
    const before = made.get(caller);
    if (before !== undefined && before.iat === iat && before.target === target && before.method === method) {
      return before.text;
    }
    const members = before?.members ?? membersOf(deps.audience, caller);
    const request: RequestClaims = { method, target, iat, exp: iat + assertionLifetimeSeconds };
    const payload = `{${members},${JSON.stringify(request).slice(1)}`;
    const input = `${header}.${Buffer.from(payload).toString('base64url')}`;
    const text = `${input}.${mac(input, 'base64url')}`;
    made.set(caller, { members, method, target, iat, text });
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
