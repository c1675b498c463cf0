/** What programs of others say about a delivery with a message signature: two libraries, and the code of the guide. */
import { createHash, createPublicKey, type JsonWebKey, verify as verifyWith } from 'node:crypto';
import { verifySignature } from 'http-message-sig';
import { createVerifier, httpbis } from 'http-message-signatures';
import { verifyMessage } from './guide-verifier.ts';

export type PublishedKey = JsonWebKey & { kid: string; alg: string };

/** A request as its receiver sees it. */
export type SentMessage = { method: string; url: string; headers: Record<string, string>; body: string };

type Verifier = (sent: SentMessage) => Promise<boolean>;

const covered = ['@method', '@authority', '@path', 'content-digest', 'content-type', 'webhook-id', 'webhook-timestamp'];
const parameters = ['created', 'expires', 'keyid', 'alg', 'tag'];
const skewSeconds = 5;

type Key = { kid: string; algorithm: 'ecdsa-p256-sha256' | 'ed25519'; key: ReturnType<typeof createPublicKey> };

const keyOf = (jwk: PublishedKey): Key => ({
  kid: jwk.kid,
  algorithm: jwk.alg === 'ES256' ? 'ecdsa-p256-sha256' : 'ed25519',
  key: createPublicKey({ key: jwk, format: 'jwk' }),
});

/** RFC 9530: the libraries leave the comparison of the body to their callers. */
const hasDigest = ({ headers, body }: SentMessage): boolean =>
  headers['content-digest'] === `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;

/** By the library http-message-signatures. */
const ofFirst = (keys: ReadonlyMap<string, Key>): Verifier => {
  const known = new Map(
    [...keys].map(([id, { algorithm, key }]) => [
      id,
      { id, algs: [algorithm], verify: createVerifier(key, algorithm) },
    ]),
  );
  const config = {
    keyLookup: ({ keyid = '' }: { keyid?: string }) => Promise.resolve(known.get(keyid) ?? null),
    requiredFields: covered,
    requiredParams: parameters,
    tolerance: skewSeconds,
  };
  return async ({ method, url, headers }) =>
    (await httpbis.verifyMessage(config, { method, url, headers }).catch(() => false)) === true;
};

/** By the library http-message-sig. */
const ofSecond = (keys: ReadonlyMap<string, Key>): Verifier => {
  const policy = {
    algorithms: ['ed25519', 'ecdsa-p256-sha256'],
    requiredComponents: covered,
    requiredParameters: parameters,
    maxAge: 300,
    clockSkew: skewSeconds,
  };
  const resolveVerifier = ({ parameters: given }: { parameters: { keyid?: string } }) => {
    const found = keys.get(given.keyid ?? '');
    if (found === undefined) throw new Error('unknown key');
    const { algorithm, key } = found;
    const hash = algorithm === 'ed25519' ? null : 'sha256';
    const options = { key, dsaEncoding: 'ieee-p1363' } as const;
    return {
      algorithm,
      verify: (data: Uint8Array, signature: Uint8Array) => verifyWith(hash, data, options, signature),
    };
  };
  return ({ method, url, headers }) => {
    const fields = Object.entries(headers).map(([name, value]) => ({ name, value }));
    return verifySignature({ kind: 'request', method, targetUri: url, fields }, { policy, resolveVerifier }).then(
      () => true,
      () => false,
    );
  };
};

/** `keys`: the published ones. Each of the verifiers says whether it accepts the request. */
export const createMessageVerifiers = (keys: readonly PublishedKey[]): ((sent: SentMessage) => Promise<boolean[]>) => {
  const byKid = new Map(keys.map((jwk) => [jwk.kid, keyOf(jwk)]));
  const libraries = [ofFirst(byKid), ofSecond(byKid)];
  return async (sent) => {
    const digest = hasDigest(sent);
    const ofLibraries = await Promise.all(libraries.map(async (accepts) => (await accepts(sent)) && digest));
    // The code of the guide takes the method from the route of the receiver.
    return [
      ...ofLibraries,
      sent.method === 'POST' && verifyMessage(keys, sent.url, sent.headers, Buffer.from(sent.body)),
    ];
  };
};
