/**
 * Exports the audit, each event at least once. The cursor holds a position for each chain that may still grow, and it
 * is returned only after everything before it was written. Memory is bounded by one page.
 */
import { Fault } from '#src/contract/fault.ts';
import { dayMs } from '#src/platform/clock.ts';
import { changesProcess, headLabel } from '../chain/chain.ts';
import { firstSeq, listHeadless } from '../chain/chain-store.ts';
import { checkSignatures } from '../chain/check-chain.ts';
import { type ChainRow, listChains } from '../chain/event-store.ts';
import { markSigned } from '../chain/mark-signed.ts';
import { type ChainPage, type Gap, readChain } from '../chain/read-chain.ts';
import { checkpointAction, completeEvent } from '../event/event.ts';
import { type EventId, readEventId } from '../event/event-id.ts';
import { toEcs, toFound } from '../event/found-event.ts';
import type { ShownEvent } from '../event/token-uses.ts';
import type { ExportFormat } from './export-formats.ts';
import { type AuditReaderDeps, noteAuditRead } from './search-audit.ts';

export type ExportRequest = {
  format: ExportFormat;
  /** Cursor of an earlier export; without it everything is exported. */
  after?: string | undefined;
  /** Resolves when the text was written; the next page is read then. */
  write: (text: string) => Promise<void>;
};

export type ExportedAudit = { events: number; cursor: string; gaps: Gap[] };

const chainsPage = 200;
/** A running process signs its head regularly. After this time without a signature, its chain counts as ended. */
const abandonedMs = 30 * dayMs;

/** Chains below `end` have ended and were read as a whole, except for those with a position. */
type Cursor = { end: number; positions: ReadonlyMap<number, number> };

/** VALIDATION_ERROR for a malformed cursor. */
export const exportAudit = async (deps: AuditReaderDeps, request: ExportRequest): Promise<ExportedAudit> => {
  const { format, write } = request;
  const before = request.after === undefined ? undefined : readCursor(request.after);
  await noteAuditRead(deps, { read: 'export', format, after: request.after === undefined ? null : 'cursor' });
  const { head, toText } = formatOf(format);
  const gaps: Gap[] = [];
  let events = 0;
  if (head !== '') await write(head);
  const positions = new Map<number, number>();
  let end = 0;
  for await (const stored of listStored(deps)) {
    const { chain, head } = stored;
    // The number of a forged chain says nothing about the chains that will be opened.
    if (head !== undefined) end = chain + 1;
    // A first export reports no gap for events that were dropped before it.
    let position = before === undefined ? stored.anchorSeq : positionIn(before, chain);
    while (position !== undefined) {
      const page: ChainPage = await readChain(deps.db, stored, position);
      gaps.push(...page.gaps);
      if (page.events.length > 0) await write(toText(await markSigned(deps, page.events)));
      position = page.position;
      events += page.events.length;
      if (page.isEnd) break;
    }
    if (position !== undefined && !(head !== undefined && isOver(head, position, deps.clock.now())))
      positions.set(chain, position);
  }
  return { events, cursor: writeCursor({ end, positions }), gaps };
};

/** `head`: undefined where its signatures are wrong, or where it is missing. Then `anchorSeq` is before the first stored event. */
type StoredChain = { chain: number; anchorSeq: number; head: ChainRow | undefined };

/** Every chain that has a head or events. A writer of the tables, who removes or edits a head, must not keep events from exports. */
async function* listStored({ db, box }: Pick<AuditReaderDeps, 'db' | 'box'>): AsyncGenerator<StoredChain> {
  const key = box.derive(headLabel);
  let heads: ChainRow[] = [];
  do {
    heads = await listChains(db, heads.at(-1)?.chain, chainsPage);
    for (const head of heads) {
      const { chain, anchorSeq } = head;
      if (checkSignatures(key, head) === undefined) yield { chain, anchorSeq, head };
      else yield { chain, anchorSeq: beforeFirst(await firstSeq(db, chain)), head: undefined };
    }
  } while (heads.length > 0);
  let headless: { chain: number; seq: number }[] = [];
  do {
    headless = await listHeadless(db, headless.at(-1)?.chain, chainsPage);
    for (const { chain, seq } of headless) yield { chain, anchorSeq: beforeFirst(seq), head: undefined };
  } while (headless.length > 0);
}

/** Numbers begin with 1; a forged one below it has no place in a cursor. */
const beforeFirst = (seq: number | undefined): number => Math.max(0, (seq ?? 1) - 1);

/** Undefined: the chain has ended and was exported as a whole. */
const positionIn = ({ end, positions }: Cursor, chain: number): number | undefined =>
  positions.get(chain) ?? (chain < end ? undefined : 0);

/** `row` was read before its events, so all events up to the closing of the chain were exported. */
const isOver = (row: ChainRow, position: number, now: Date): boolean =>
  row.closed
    ? position >= row.seq
    : row.process !== changesProcess && row.signed.getTime() < now.getTime() - abandonedMs;

/** Chains are opened in the sequence of their numbers, so no chain below the last one can appear later. */
const writeCursor = ({ end, positions }: Cursor): string =>
  `${end}~${[...positions].map(([chain, seq]) => `${chain}-${seq}`).join('.')}`;

/** Cursors of earlier versions list every chain and have no end. */
const readCursor = (cursor: string): Cursor => {
  const [, end = '0', pairs = ''] = /^(?:(\d{1,10})~)?([\d.-]+)$/.exec(cursor) ?? [];
  return { end: Number(end), positions: new Map(pairs.split('.').map((pair) => toPair(readEventId(pair)))) };
};

const toPair = (place: EventId | undefined): [number, number] => {
  if (place === undefined || place.use !== undefined) throw new Fault('VALIDATION_ERROR', 'No export gave this cursor');
  return [place.chain, place.seq];
};

type Exported = ShownEvent & { signed?: boolean };

export const toJsonLines = (events: readonly Exported[]): string =>
  events.map((event) => `${JSON.stringify(toEcs(toFound(event)))}\n`).join('');

/** A line of a sink that is no event: a checkpoint to be kept. */
export const toCheckpointLine = (checkpoint: string, at: Date): string =>
  `${JSON.stringify({
    '@timestamp': at.toISOString(),
    'event.id': `checkpoint-${checkpoint.split('\n')[1]}`,
    'event.action': checkpointAction,
    'orderpass.checkpoint': checkpoint,
  })}\n`;

const csvNames = Object.keys(
  toEcs(toFound({ ...completeEvent({ action: 'audit.read' }, new Date(0)), chain: 0, seq: 0, hash: '', signed: true })),
);

const toCsv = (events: readonly Exported[]): string =>
  events
    .map((event) => {
      const members = toEcs(toFound(event));
      return csvLine(csvNames.map((name) => csvText(members[name])));
    })
    .join('');

/** `head`: text before the first event. `toText`: writes events in the format. */
export const formatOf = (format: ExportFormat): { head: string; toText: (events: readonly Exported[]) => string } =>
  format === 'csv' ? { head: `${csvNames.join(',')}\r\n`, toText: toCsv } : { head: '', toText: toJsonLines };

const csvText = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.join(' ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

/** RFC 4180. Callers choose some of these texts, so a cell that a spreadsheet would run as a formula gets a quote. */
const csvLine = (cells: readonly string[]): string => {
  const safe = cells.map((cell) => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell));
  return `${safe.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`;
};
