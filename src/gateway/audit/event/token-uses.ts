/**
 * Pure: what many tokens of one client did within moments, as one event keeps it: `;fingerprint token-id requests` for each,
 * the ids of their requests in the same sequence in `request_ids`. Whoever reads the audit is shown an event for each token.
 */
import type { AuditEvent, ChainedEvent } from './event.ts';

/** Neither part holds a sign that stands between them, and the first begins with its key. */
const isFingerprint = /^[0-9a-f]{32}$/;
const isTokenId = /^[\w-]{1,128}$/;

/** `start`: what stands before the number of requests. Undefined: this cannot stand beside others in one event. */
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

/** How a use is found in the text of an event; undefined when the filter asks for no token. */
export const marksOf = ({ fingerprint, tokenId }: AskedToken): readonly string[] | undefined => {
  const values = valuesOf(fingerprint);
  if (values === undefined) return tokenId === undefined ? undefined : [` ${tokenId} `];
  return values.map((value) => (tokenId === undefined ? `;${value} ` : startOf(value, tokenId)));
};

/** Undefined when the filter asks for no fingerprint; what is none has no key. */
export const keysAsked = ({ fingerprint }: AskedToken): readonly number[] | undefined =>
  valuesOf(fingerprint)
    ?.filter((value) => isFingerprint.test(value))
    .map(keyOf);

const valuesOf = (fingerprint: AskedToken['fingerprint']): readonly string[] | undefined =>
  typeof fingerprint === 'string' ? [fingerprint] : fingerprint;

export const keyLength = 12;

/** 48 bits: small in an index, and what is found is compared as a whole. */
const keyOf = (fingerprint: string): number => Number.parseInt(fingerprint.slice(0, keyLength), 16);

/** As `use_keys` of an event with these uses reads. */
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

/** An event as it is shown. `use`: which of several that stand in one; then it has none of the others. */
export type ShownEvent = ChainedEvent & { use?: number };

type Asked = AskedToken & { requestId?: string | undefined };

/** One for each token, in their sequence; of an event of many only those that were asked for. */
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
