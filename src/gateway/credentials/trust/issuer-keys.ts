/**
 * The keys of trusted issuers, found by OpenID Connect Discovery or at a given address. They are read when a login needs them and
 * remembered; only operators choose issuers, so their number is theirs.
 */
import { z } from 'zod';
import type { Clock } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import { createRecentMap } from '#src/platform/recent-map.ts';
import { createTurns } from '#src/platform/sharing/semaphore.ts';
import type { FetchDocument } from './fetch-document.ts';
import { type IssuerKey, readJwks } from './read-jwks.ts';
import { createRememberedDocument, type Remembered, type RememberedDocument } from './remembered-document.ts';
import type { TrustRow } from './trust-store.ts';

export type IssuerKeys = {
  /** `fits` false: the keys are read again, unless that was tried less than `retrySeconds` ago. Never rejects. */
  read(
    issuer: Pick<TrustRow, 'issuer' | 'jwksUri'>,
    fits: (keys: readonly IssuerKey[]) => boolean,
  ): Promise<Remembered<readonly IssuerKey[]>>;
};

type IssuerKeysDeps = { fetchDocument: FetchDocument; clock: Clock; log: Logger };

/** Least time between two attempts to read the keys of one issuer. */
export const retrySeconds = 15;

/** chosen: a removed key is refused after 10 minutes, an outage is bridged for 4 hours. */
const bounds = { freshMs: 600_000, keptMs: 4 * 3_600_000, againMs: retrySeconds * 1_000 };
const issuersMax = 1_000;
const discoveryBounds = { bytesMax: 64 * 1024, timeoutMs: 5_000 };
const jwksBounds = { bytesMax: 256 * 1024, timeoutMs: 5_000 };
/**
 * chosen: slow issuers must not use up the connections and memory of the process. All issuers of one host, such as the tenants of one
 * service, are slow at the same time, so they have half of the reads and leave some to issuers of other hosts.
 */
const reads = {
  ofEach: { atOnceMax: 4, waitingMax: 64 },
  ofAll: { atOnceMax: 8, waitingMax: 64 },
  waitMsMax: 5_000,
};

const discovered = z.object({ issuer: z.string(), jwks_uri: z.string() });

export const createIssuerKeys = ({ fetchDocument, clock, log }: IssuerKeysDeps): IssuerKeys => {
  const issuers = createRecentMap<string, RememberedDocument<readonly IssuerKey[]>>(issuersMax);
  const turns = createTurns(reads);

  const load = async ({ issuer, jwksUri }: Pick<TrustRow, 'issuer' | 'jwksUri'>): Promise<readonly IssuerKey[]> => {
    const { host } = new URL(jwksUri ?? issuer);
    const release = await turns.acquire({ each: host, sharer: host }, never);
    if (release === undefined) throw new Error('too many key sets are being read');
    try {
      return readJwks(await fetchDocument(jwksUri ?? (await discover(fetchDocument, issuer)), jwksBounds));
    } finally {
      release();
    }
  };

  return {
    read: (issuer, fits) => {
      const name = `${issuer.issuer} ${issuer.jwksUri ?? ''}`;
      const found =
        issuers.get(name) ??
        createRememberedDocument({
          load: () => load(issuer),
          onFailed: (error) => log.warn({ err: error, issuer: issuer.issuer }, 'cannot read the keys of an issuer'),
          bounds,
          elapsedMs: () => clock.now().getTime(),
        });
      issuers.set(name, found);
      return found.read(fits);
    },
  };
};

const never = new AbortController().signal;

/** OpenID Connect Discovery 1.0 section 4: the document must name exactly this issuer, else another one could answer for it. */
const discover = async (fetchDocument: FetchDocument, issuer: string): Promise<string> => {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const { issuer: named, jwks_uri: jwksUri } = discovered.parse(
    JSON.parse(await fetchDocument(address, discoveryBounds)),
  );
  if (named !== issuer) throw new Error('the discovery document names another issuer');
  return jwksUri;
};
