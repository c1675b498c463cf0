/**
 * Pure: what many tokens of one client did within moments, as one event keeps it: `;fingerprint token-id requests` for each,
 * the ids of their requests in the same sequence in `request_ids`. Whoever reads the audit is shown an event for each token.
 */
import { hash } from 'node:crypto';
import type { AuditEvent, ChainedEvent } from './audit-event.ts';

/** Neither holds a sign that stands between the parts. */
const shareable = /^[\w-]{1,128}$/;

/** Undefined: this cannot stand beside others in one event. */
export const nameUse = ({
  fingerprint,
  token_id,
}: Pick<AuditEvent, 'fingerprint' | 'token_id'>): { start: string; keys: string } | undefined => {
  if (fingerprint === null || token_id === null) return undefined;
  if (!shareable.test(fingerprint) || !shareable.test(token_id)) return undefined;
  return { start: startOf(fingerprint, token_id), keys: `${keyOf(fingerprint)},${keyOf(token_id)}` };
};

const startOf = (fingerprint: string, tokenId: string): string => `;${fingerprint} ${tokenId} `;

/** How a use is found in the text of an event; undefined when the filter asks for no token. */
export const marksOf = ({
  fingerprint,
  tokenId,
}: {
  fingerprint?: string | readonly string[] | undefined;
  tokenId?: string | undefined;
}): readonly string[] | undefined => {
  const values = typeof fingerprint === 'string' ? [fingerprint] : fingerprint;
  if (values === undefined) return tokenId === undefined ? undefined : [` ${tokenId} `];
  return values.map((value) => (tokenId === undefined ? `;${value} ` : startOf(value, tokenId)));
};

/** 48 bits of SHA-256: small in an index, and what is found is compared as a whole. */
export const keyOf = (name: string): number => Number.parseInt(hash('sha256', name, 'hex').slice(0, 12), 16);

/** As `use_keys` of an event with these uses reads. */
export const keysOf = (uses: string | null): string | null =>
  uses === null
    ? null
    : `{${readUses(uses)
        .flatMap(({ fingerprint, tokenId }) => [keyOf(fingerprint), keyOf(tokenId)])
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

/** What was asked for, when it was one token or one request. */
type Asked = {
  fingerprint?: string | readonly string[] | undefined;
  tokenId?: string | undefined;
  requestId?: string | undefined;
};

/** One for each token, in their sequence; of an event of many only those that were asked for. */
export const expandEvent = (event: ChainedEvent, asked: Asked = {}): ShownEvent[] => {
  const { uses, ...rest } = event;
  if (uses === null) return [event];
  const values = typeof asked.fingerprint === 'string' ? [asked.fingerprint] : asked.fingerprint;
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
