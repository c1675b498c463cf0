/**
 * Pure: one stored event can represent the requests of many tokens of one client. Its text `uses` holds
 * `;fingerprint token-id requests` for each token, and `request_ids` holds the ids in the same sequence. Readers of the
 * audit get one event for each token (`expandEvent`).
 */
import type { AuditEvent, ChainedEvent } from './event.ts';

/** Neither part can contain a separator of `uses`, and the fingerprint begins with its index key. */
const isFingerprint = /^[0-9a-f]{32}$/;
const isTokenId = /^[\w-]{1,128}$/;

/** `start`: the text before the number of requests. Undefined: the use needs an event of its own. */
export const nameUse = ({
  fingerprint,
  token_id,
}: Pick<AuditEvent, 'fingerprint' | 'token_id'>): { start: string; key: string } | undefined => {
  if (fingerprint === null || token_id === null) return undefined;
  if (!isFingerprint.test(fingerprint) || !isTokenId.test(token_id)) return undefined;
  return { start: startOf(fingerprint, token_id), key: String(keyOf(fingerprint)) };
};

const startOf = (fingerprint: string, tokenId: string): string => `;${fingerprint} ${tokenId} `;

type AskedToken = { fingerprint?: string | readonly string[] | undefined; tokenId?: string | undefined };

/** The texts by which a search finds a use within `uses`; undefined when the filter names no token. */
export const marksOf = ({ fingerprint, tokenId }: AskedToken): readonly string[] | undefined => {
  const values = valuesOf(fingerprint);
  if (values === undefined) return tokenId === undefined ? undefined : [` ${tokenId} `];
  return values.map((value) => (tokenId === undefined ? `;${value} ` : startOf(value, tokenId)));
};

/** Index keys of the fingerprints; undefined when the filter names none. Malformed fingerprints have no key. */
export const keysAsked = ({ fingerprint }: AskedToken): readonly number[] | undefined =>
  valuesOf(fingerprint)
    ?.filter((value) => isFingerprint.test(value))
    .map(keyOf);

const valuesOf = (fingerprint: AskedToken['fingerprint']): readonly string[] | undefined =>
  typeof fingerprint === 'string' ? [fingerprint] : fingerprint;

export const keyLength = 12;

/** 48 bits keep the index small; a search compares the whole fingerprint afterwards. */
const keyOf = (fingerprint: string): number => Number.parseInt(fingerprint.slice(0, keyLength), 16);

/** The value of `use_keys` that belongs to these `uses`. */
export const keysOf = (uses: string | null): string | null =>
  uses === null
    ? null
    : `{${readUses(uses)
        .map(({ fingerprint }) => keyOf(fingerprint))
        .join(',')}}`;

type TokenUse = { fingerprint: string; tokenId: string; requests: number };

const readUses = (uses: string): TokenUse[] =>
  uses
    .slice(1)
    .split(';')
    .map((text) => {
      const [fingerprint = '', tokenId = '', requests = ''] = text.split(' ');
      return { fingerprint, tokenId, requests: Number(requests) };
    });

/** An event as readers get it. `use`: index of the token within the stored event, when that represents several. */
export type ShownEvent = ChainedEvent & { use?: number };

type Asked = AskedToken & { requestId?: string | undefined };

/** One event for each token, in the stored sequence. `asked` leaves out the tokens that do not match it. */
export const expandEvent = (event: ChainedEvent, asked: Asked = {}): ShownEvent[] => {
  const { uses, ...rest } = event;
  if (uses === null) return [event];
  const values = valuesOf(asked.fingerprint);
  const shown: ShownEvent[] = [];
  let from = 0;
  for (const [use, { fingerprint, tokenId, requests }] of readUses(uses).entries()) {
    const request_ids = event.request_ids.slice(from, from + requests);
    from += requests;
    if (asked.tokenId !== undefined && asked.tokenId !== tokenId) continue;
    if (asked.requestId !== undefined && !request_ids.includes(asked.requestId)) continue;
    if (values !== undefined && !values.includes(fingerprint)) continue;
    const own = { fingerprint, token_id: tokenId, request_ids, count: requests, uses: null, use_keys: null };
    shown.push({ ...rest, ...own, use });
  }
  return shown;
};
