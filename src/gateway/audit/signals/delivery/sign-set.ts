/**
 * Signs Security Event Tokens (RFC 8417): RS256 with a key of 2048 bits, as the CAEP interoperability profile asks (2.6). The
 * key is another one than that of access tokens and has a key set of its own, so that no service takes an event for a token.
 */
import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, importJWK, type JWK, SignJWT } from 'jose';
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { QueuedEvent } from '../events/queue-store.ts';
import { insertSignalKey, listSignalKeys, lockSignalKeys, type SignalKeyRow } from './key-store.ts';

export type SignSet = (event: QueuedEvent, stream: { issuer: string; clientId: string }) => Promise<string>;

export type SignalKeys = { jwks: { keys: JWK[] }; sign: SignSet };

type Deps = { db: Kysely<unknown>; box: Pick<SecretBox, 'seal' | 'open'>; clock: Clock };

const alg = 'RS256';
const modulusBits = 2_048;
const sealLabel = (kid: string): string => `signal-key/${kid}`;

/** Makes the key when there is none. */
export const openSignalKeys = async (deps: Deps): Promise<SignalKeys> => {
  const rows = await settleKeys(deps);
  const [newest] = rows;
  if (newest === undefined) throw new Error('no key for security events is left');
  const opened = JSON.parse(deps.box.open(newest.privateSealed, sealLabel(newest.kid))) as JWK;
  // Web Crypto signs in the thread pool, so a poll of many events does not keep the process from other requests.
  const key = await importJWK(opened, alg);
  return {
    jwks: { keys: rows.map(({ kid, publicJwk }) => publishedJwk(kid, publicJwk)) },
    sign: (event, { issuer, clientId }) =>
      new SignJWT({
        iss: issuer,
        jti: event.jti,
        iat: Math.floor(event.created.getTime() / 1000),
        aud: clientId,
        txn: event.txn,
        sub_id: event.subject,
        events: { [event.type]: event.payload },
      })
        .setProtectedHeader({ alg, kid: newest.kid, typ: 'secevent+jwt' })
        .sign(key),
  };
};

const settleKeys = async ({ db, box, clock }: Deps): Promise<SignalKeyRow[]> => {
  const found = await listSignalKeys(db);
  if (found.length > 0) return found;
  const made = await generateKey(box);
  return inTransaction(db, async (tx) => {
    await lockSignalKeys(tx);
    const others = await listSignalKeys(tx);
    if (others.length > 0) return others;
    await insertSignalKey(tx, made, clock.now());
    return [made];
  });
};

const generateKey = async (box: Pick<SecretBox, 'seal'>): Promise<SignalKeyRow> => {
  const { privateKey, publicKey } = await promisify(generateKeyPair)('rsa', { modulusLength: modulusBits });
  const publicJwk = publicKey.export({ format: 'jwk' }) as JWK;
  const kid = await calculateJwkThumbprint(publicJwk);
  const text = JSON.stringify(privateKey.export({ format: 'jwk' }));
  return { kid, publicJwk, privateSealed: box.seal(text, sealLabel(kid)) };
};

/** Public members by name, so that nothing else can ever get into the document. */
const publishedJwk = (kid: string, { n, e }: JWK): JWK => ({ kty: 'RSA', n, e, kid, use: 'sig', alg }) as JWK;
