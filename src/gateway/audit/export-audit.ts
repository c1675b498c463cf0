/**
 * Carries the audit out, each event at least once: the cursor holds a position per chain and is given out only after
 * everything before it was written. Memory is bounded by one page.
 */
import { Fault } from '#src/contract/fault.ts';
import { type ChainedEvent, completeEvent, toEcs } from './audit-event.ts';
import { listChains } from './audit-store.ts';
import { type Gap, pageEvents, readChain } from './read-chain.ts';
import { type AuditReaderDeps, noteAuditRead } from './search-audit.ts';

export const exportFormats = ['jsonl', 'csv'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export type ExportRequest = {
  format: ExportFormat;
  /** Of an earlier export; without it everything that there is. */
  after?: string | undefined;
  /** Resolves when the text was taken: the next page is read then. */
  write: (text: string) => Promise<void>;
};

export type ExportedAudit = { events: number; cursor: string; gaps: Gap[] };

const chainsPage = 200;

/** VALIDATION_ERROR for a cursor that no export gave. */
export const exportAudit = async (deps: AuditReaderDeps, request: ExportRequest): Promise<ExportedAudit> => {
  const { format, write } = request;
  const positions = request.after === undefined ? new Map<number, number>() : readCursor(request.after);
  await noteAuditRead(deps, { read: 'export', format, after: request.after === undefined ? null : 'cursor' });
  const toText = format === 'csv' ? toCsv : toJsonLines;
  const gaps: Gap[] = [];
  let events = 0;
  if (format === 'csv') await write(`${csvNames.join(',')}\r\n`);
  for (let chains = await listChains(deps.db, -1, chainsPage); chains.length > 0; ) {
    for (const row of chains) {
      for (;;) {
        // Whoever exports for the first time has missed nothing of what was dropped before.
        const after = positions.get(row.chain) ?? (request.after === undefined ? row.anchorSeq : 0);
        const page = await readChain(deps.db, row, after);
        gaps.push(...page.gaps);
        if (page.events.length > 0) await write(toText(page.events));
        positions.set(row.chain, page.position);
        events += page.events.length;
        if (page.events.length < pageEvents) break;
      }
    }
    chains = await listChains(deps.db, chains.at(-1)?.chain ?? 0, chainsPage);
  }
  return { events, cursor: writeCursor(positions), gaps };
};

const writeCursor = (positions: ReadonlyMap<number, number>): string =>
  [...positions].map(([chain, seq]) => `${chain}-${seq}`).join('.');

const readCursor = (cursor: string): Map<number, number> => {
  if (!/^\d{1,9}-\d{1,15}(\.\d{1,9}-\d{1,15})*$/.test(cursor)) {
    throw new Fault('VALIDATION_ERROR', 'No export gave this cursor');
  }
  return new Map(cursor.split('.').map((pair) => pair.split('-').map(Number) as [number, number]));
};

export const toJsonLines = (events: readonly ChainedEvent[]): string =>
  events.map((event) => `${JSON.stringify(toEcs(event))}\n`).join('');

const csvNames = Object.keys(
  toEcs({ ...completeEvent({ action: 'audit.read' }, new Date(0)), ...{ chain: 0, seq: 0, hash: '' } }),
);

const toCsv = (events: readonly ChainedEvent[]): string =>
  events
    .map((event) => {
      const members = toEcs(event);
      return csvLine(csvNames.map((name) => csvText(members[name])));
    })
    .join('');

const csvText = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.join(' ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

/** RFC 4180. A sheet would run what begins like a formula, and callers choose some of these texts. */
const csvLine = (cells: readonly string[]): string => {
  const safe = cells.map((cell) => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell));
  return `${safe.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`;
};
