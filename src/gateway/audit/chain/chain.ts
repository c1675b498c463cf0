/**
 * Pure: the hash chain of the audit. Each hash covers the event, its position and the hash before it, so changing,
 * removing or inserting an event makes every later hash wrong. The signed head states where the chain must end.
 */
import { createHmac, hash } from 'node:crypto';
import type { AuditEvent, ChainedEvent } from '../event/event.ts';

/**
 * Number of the first chain of changes, which all processes share. A writer locks it to the end of the transaction.
 * When it is found broken, a new chain with a higher number and the same process name replaces it.
 */
export const changesChain = 0;
export const changesProcess = 'changes';

/** The hash that precedes the first event of a chain. */
export const chainStart = '0'.repeat(64);

/**
 * SHA-256 in hex. The sequence of the members is part of the format and never changes. `uses` is left out when null.
 */
export const hashEvent = (before: string, chain: number, seq: number, event: AuditEvent): string =>
  hash(
    'sha256',
    JSON.stringify([
      before,
      chain,
      seq,
      event.at.toISOString(),
      event.action,
      event.outcome,
      event.reason,
      event.count,
      event.request_ids,
      event.fingerprint,
      event.kind,
      event.credential_id,
      event.token_id,
      event.client_id,
      event.tenants,
      event.route_id,
      event.scopes,
      event.address,
      event.actor,
      event.details,
      ...(event.uses === null ? [] : [event.uses]),
    ]),
  );

export type ChainEnd = { seq: number; hash: string };

export const appendToChain = <E extends AuditEvent>(
  chain: number,
  end: ChainEnd,
  events: readonly E[],
): { events: (E & ChainedEvent)[]; end: ChainEnd } => {
  let { seq, hash: last } = end;
  const chained = events.map((event) => {
    seq += 1;
    last = hashEvent(last, chain, seq, event);
    return { ...event, chain, seq, hash: last };
  });
  return { events: chained, end: { seq, hash: last } };
};

export type Head = ChainEnd & {
  chain: number;
  process: string;
  opened: Date;
  signed: Date;
  closed: boolean;
  /** JSON (attested-heads.ts): ends of other chains that this head attests. */
  seen: string;
};

export const headLabel = 'audit-head';

/** `key`: derived from the root under `headLabel`, so write access to the tables is not enough to sign. */
export const signHead = (key: Buffer, head: Head): Buffer =>
  createHmac('sha256', key)
    .update(
      JSON.stringify([
        'head',
        head.chain,
        head.process,
        head.opened.toISOString(),
        head.seq,
        head.hash,
        head.signed.toISOString(),
        head.closed,
        head.seen,
      ]),
    )
    .digest();

/** Signs the beginning of a chain after the retention dropped its oldest events. */
export const signAnchor = (key: Buffer, chain: number, { seq, hash }: ChainEnd): Buffer =>
  createHmac('sha256', key)
    .update(JSON.stringify(['anchor', chain, seq, hash]))
    .digest();
