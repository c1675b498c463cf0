/** The public keys with which GitHub signs its reports (docs.github.com, secret scanning partner program). */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { Logger } from '#src/platform/log.ts';
import type { FetchDocument } from '../../credentials/trust/fetch-document.ts';
import { createRememberedDocument, type RememberedDocument } from '../../credentials/trust/remembered-document.ts';

export type GithubKeys = RememberedDocument<ReadonlyMap<string, KeyObject>>;

type GithubKeysDeps = { url: string; fetchDocument: FetchDocument; log: Logger; elapsedMs?: () => number };

const keysMax = 100;
const documentSchema = z.object({
  public_keys: z.array(z.object({ key_identifier: z.string().max(256), key: z.string().max(4_096) })).max(keysMax),
});

export const createGithubKeys = ({ url, fetchDocument, log, elapsedMs }: GithubKeysDeps): GithubKeys =>
  createRememberedDocument({
    load: async () => {
      const text = await fetchDocument(url, { bytesMax: 64 * 1024, timeoutMs: 5_000 });
      const { public_keys: listed } = documentSchema.parse(JSON.parse(text));
      const keys = new Map<string, KeyObject>();
      for (const { key_identifier: id, key: pem } of listed) {
        const key = readKey(pem);
        if (key !== undefined) keys.set(id, key);
        else log.warn({ key_id: id }, 'a key of leak reports is left out, since it is not on P-256');
      }
      if (keys.size === 0 && listed.length > 0) throw new Error('no key of leak reports is on P-256');
      return keys;
    },
    onFailed: (error) => log.warn({ err: error }, 'cannot read the keys of leak reports'),
    bounds: { freshMs: 3_600_000, keptMs: 86_400_000, againMs: 30_000 },
    elapsedMs: elapsedMs ?? (() => performance.now()),
  });

/** Undefined for a key of another kind. GitHub may list one beside those that it signs with, whose reports go on to count. */
const readKey = (pem: string): KeyObject | undefined => {
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch {
    return undefined;
  }
  return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined;
};
