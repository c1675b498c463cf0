/**
 * Rotation: issues new secrets and keys beside old ones. The old one remains valid for the overlap, during which
 * `showClient` shows its use. It ends by itself after the overlap, or earlier when it is retired.
 */
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { Fault } from '#src/contract/fault.ts';
import { isSandboxId } from '#src/contract/sandbox.ts';
import { hourMs } from '#src/platform/clock.ts';
import { newApiKey, newClientSecret } from '../../model/credential-values.ts';
import * as store from '../lookup/credential-store.ts';
import { adviceTexts } from '../show/retire-advice.ts';
import { clientKeyName, credentialViews, type ShownSecret } from '../show/show-credentials.ts';
import { assertFound, type CredentialsDeps, found } from '../state/credentials-deps.ts';
import { makeSuccessor } from '../state/limit-store.ts';
import * as states from '../state/state-store.ts';
import { change, noteChange, noteState, only, revoking, storedForm, type Tx } from './change.ts';

/** `secret`, `value`: returned once and stored as digests only. */
export type IssuedSecret = { secretId: string; secret: string };
export type IssuedKey = { keyId: string; value: string };

const overlapHoursMax = 30 * 24;
/** chosen: of the secrets and of the public keys of a client that work at a time. Gateways hold all of them in memory. */
const liveMax = 20;

const assertRoom = (live: number, what: string): void => {
  if (live >= liveMax) throw new Fault('CONFLICT', `The client has ${live} ${what} that work; end one first`);
};

const endOf = (deps: CredentialsDeps, overlapHours: number): Date => {
  if (!Number.isFinite(overlapHours) || overlapHours < 0 || overlapHours > overlapHoursMax) {
    throw new Fault('VALIDATION_ERROR', `The overlap must be 0 to ${overlapHoursMax} hours`);
  }
  return new Date(deps.clock.now().getTime() + overlapHours * hourMs);
};

export const issueSecret = async (
  deps: CredentialsDeps,
  tx: Tx,
  clientId: string,
  expires: Date | null,
  isRotation = false,
): Promise<IssuedSecret> => {
  const { id, value } = newClientSecret(isSandboxId(clientId));
  const stored = storedForm(deps, value);
  await store.insertSecret(tx, { secretId: id, clientId, ...stored, created: deps.clock.now(), expires });
  await noteChange(deps, tx, {
    action: 'secret.created',
    client_id: clientId,
    credential_id: id,
    // Tells a rotation from the first secret of a client.
    ...(isRotation && { details: JSON.stringify({ rotated: true }) }),
  });
  return { secretId: id, secret: value };
};

/**
 * Issues a new key with the same tenant, name, limits and networks. Both spend from the same quotas. The old one ends in
 * `overlapHours` (0 to 720), the new one at `expires`, else never. The new one is not in quarantine, so `refuseQuarantined` is for
 * callers that may not lift one: CONFLICT.
 */
const rotateKeys =
  (deps: CredentialsDeps) =>
  async (
    keyId: string,
    overlapHours: number,
    { refuseQuarantined = false, expires }: { refuseQuarantined?: boolean; expires?: Date | undefined } = {},
  ): Promise<IssuedKey> => {
    if (expires !== undefined && expires <= deps.clock.now())
      throw new Fault('VALIDATION_ERROR', 'The end of the new key is in the past');
    const end = endOf(deps, overlapHours);
    const affected = ({ made, endsNow }: { made: IssuedKey; endsNow: boolean }) =>
      (endsNow ? revoking : only)([keyId, made.keyId]);
    const { made } = await change(deps, undefined, affected, async (inner) => {
      const created = deps.clock.now();
      const key = await states.limitKey(inner, keyId, end, created);
      if (key === undefined) throw new Fault('NOT_FOUND', `There is no live key ${keyId}`);
      const { quarantined, limited, ...old } = key;
      if (quarantined && refuseQuarantined) throw new Fault('CONFLICT', `The key ${keyId} is in quarantine`);
      const endsNow = await noteEnds(deps, inner, 'api_key', limited ? [keyId] : [], end);
      const { id, value } = newApiKey(isSandboxId(old.tenant));
      await noteChange(deps, inner, {
        action: 'key.created',
        kind: 'api_key',
        credential_id: id,
        tenants: [old.tenant],
        details: JSON.stringify({ successor_of: keyId }),
      });
      await store.insertApiKey(inner, {
        ...old,
        ...storedForm(deps, value),
        keyId: id,
        created,
        expires: expires ?? null,
      });
      await makeSuccessor(inner, keyId, id);
      return { made: { keyId: id, value }, endsNow };
    });
    return made;
  };

export const rotations = (deps: CredentialsDeps) => ({
  /**
   * Issues a new secret. Earlier ones end in `overlapHours` (0 to 720), or at their own expiry if that is sooner. CONFLICT: 20 of
   * them would still work.
   */
  rotateClientSecret: async (clientId: string, overlapHours: number, tx?: Tx): Promise<IssuedSecret> => {
    const end = endOf(deps, overlapHours);
    const affected = ({ endsNow }: { endsNow: boolean }) => (endsNow ? revoking : only)(clientId);
    const { made } = await change(deps, tx, affected, async (inner) => {
      // Of two rotations at once the second one gives an end to the secret of the first one, and counts it.
      assertFound(await states.lockClient(inner, clientId), 'client', clientId);
      const { live, limited } = await states.limitSecrets(inner, clientId, end, deps.clock.now());
      if (overlapHours > 0) assertRoom(live, 'secrets');
      const endsNow = await noteEnds(deps, inner, 'secret', limited, end);
      return { made: await issueSecret(deps, inner, clientId, null, true), endsNow };
    });
    return made;
  },

  /** Ends a secret now. Without `force`: CONFLICT with the facts unless that is safe (retire-advice.ts). */
  retireClientSecret: async (clientId: string, secretId: string, force: boolean): Promise<void> => {
    const secret = (await credentialViews(deps).showSecrets(clientId)).find(({ id }) => id === secretId);
    if (secret === undefined) throw new Fault('NOT_FOUND', `There is no secret ${secretId} of the client ${clientId}`);
    if (secret.state === 'revoked') return;
    if (!force && !secret.safeToRetire && secret.state !== 'expired') throw notSafe(secret);
    await change(deps, undefined, revoking(clientId), async (inner) => {
      found(await store.markSecretRevoked(inner, secretId, deps.clock.now()), 'secret', secretId);
      const reason = force ? 'retired by force' : 'retired';
      await noteState(deps, inner, { kind: 'secret', credential: secretId, state: 'revoked', reason });
    });
  },

  rotateApiKey: rotateKeys(deps),

  /**
   * `jwk`: public key for private_key_jwt. Its id is its `kid`, else its RFC 7638 thumbprint. CONFLICT: the id exists, or
   * the client has 20.
   */
  addClientKey: async (clientId: string, jwk: unknown, tx?: Tx): Promise<{ clientId: string; keyId: string }> => {
    const key = await readPublicJwk(jwk);
    return change(deps, tx, only(clientId), async (inner) => {
      assertFound(await store.clientExists(inner, clientId), 'client', clientId);
      assertRoom(await states.countClientKeys(inner, clientId), 'public keys');
      const made = await states.insertClientKey(inner, { clientId, ...key, created: deps.clock.now() });
      if (!made) throw new Fault('CONFLICT', `The client has a key ${key.keyId} already`);
      await noteChange(deps, inner, {
        action: 'client_key.added',
        client_id: clientId,
        credential_id: clientKeyName(clientId, key.keyId),
      });
      return { clientId, keyId: key.keyId };
    });
  },

  revokeClientKey: (clientId: string, keyId: string, tx?: Tx): Promise<void> =>
    change(deps, tx, revoking(clientId), async (inner) => {
      assertFound(await states.markClientKeyRevoked(inner, clientId, keyId, deps.clock.now()), 'client key', keyId);
      const credential = clientKeyName(clientId, keyId);
      await noteState(deps, inner, { kind: 'client_key', credential, state: 'revoked', reason: 'revoked' });
    }),
});

/** `ids`: those whose end the rotation changed. True: something that was accepted is refused from now on. */
const noteEnds = async (
  deps: CredentialsDeps,
  tx: Tx,
  kind: 'secret' | 'api_key',
  ids: readonly string[],
  end: Date,
): Promise<boolean> => {
  const isNow = end <= deps.clock.now();
  const reason = `rotated; ends ${end.toISOString()}`;
  for (const credential of ids)
    await noteState(deps, tx, { kind, credential, state: 'expiring', reason, ...(isNow && { ended: true }) });
  return isNow && ids.length > 0;
};

const notSafe = ({ id, advice, lastUsed, lastAddress, longestGapSeconds }: ShownSecret): Fault => {
  const use =
    lastUsed === null
      ? ''
      : ` It was last used at ${lastUsed.toISOString()} from ${lastAddress ?? 'an unknown address'}; its longest pause between two uses was ${longestGapSeconds} seconds.`;
  const reason = adviceTexts[advice ?? 'used_lately'];
  return new Fault(
    'CONFLICT',
    `${id} is not known to be safe to retire: ${reason}.${use} --force retires it all the same`,
  );
};

const rsaBitsMin = 2_048;

/** Accepts keys for ES256, EdDSA, PS256 and RS256, and returns their public members only. */
const readPublicJwk = async (jwk: unknown): Promise<{ keyId: string; jwk: object }> => {
  if (typeof jwk !== 'object' || jwk === null) throw notAKey('is not a JSON object');
  if ('d' in jwk || 'k' in jwk) throw notAKey('holds a private or secret key; register the public part only');
  const key = exportPublic(jwk);
  const fits =
    (key.kty === 'EC' && key.crv === 'P-256') ||
    (key.kty === 'OKP' && key.crv === 'Ed25519') ||
    (key.kty === 'RSA' && Buffer.from(key.n ?? '', 'base64url').length * 8 >= rsaBitsMin);
  if (!fits) throw notAKey(`must be an EC key on P-256, Ed25519, or RSA with at least ${rsaBitsMin} bits`);
  const named = 'kid' in jwk ? jwk.kid : undefined;
  if (named !== undefined && (typeof named !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(named))) {
    throw notAKey('has a kid that is not 1 to 128 printable characters');
  }
  return { keyId: named ?? (await calculateJwkThumbprint(key)), jwk: key };
};

const exportPublic = (jwk: object): JWK => {
  try {
    return createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' }).export({ format: 'jwk' }) as JWK;
  } catch {
    throw notAKey('cannot be read as a public key');
  }
};

const notAKey = (what: string): Fault => new Fault('VALIDATION_ERROR', `The JWK ${what}`);
