/** Imports a menu without a request: for the command line and the demo. */
import type { Kysely } from 'kysely';
import { requireRestaurant } from '../../restaurants/require-restaurant.ts';
import { recordImport } from './import-record.ts';
import type { Progress } from './progress.ts';
import { type ImportOutcome, runImport } from './run-import.ts';

export type MenuToImport = {
  restuid: string;
  /** The client that owns the elements; null: the panel, whose elements no client's import can change. */
  owner: string | null;
  /** Who imports it, where that is not the owner. */
  actor?: string;
  posUid: string;
  mode: 'replace' | 'merge';
  /** The same as in the body of menu/import. */
  categories: readonly unknown[];
  products: readonly unknown[];
  /** Percent; undefined: any part may be removed. */
  maxRemovalPercent?: number;
  confirmRemoval?: boolean;
  /** Plan only: the caller rolls its transaction back. */
  dryRun?: boolean;
  /** As in ImportTerms. */
  namesByExtId?: boolean;
  progress?: Progress;
  now: Date;
};

/** The menu has faults; the message names the first ones. */
export class MenuRefused extends Error {
  readonly outcome: ImportOutcome;

  constructor(message: string, outcome: ImportOutcome) {
    super(message);
    this.name = 'MenuRefused';
    this.outcome = outcome;
  }
}

/** Applies the menu in the caller's transaction. Throws MenuRefused when the menu has faults. */
export const importMenu = async (tx: Kysely<unknown>, menu: MenuToImport): Promise<ImportOutcome> => {
  const { currency } = await requireRestaurant(tx, menu.restuid);
  const terms = { maxRemovalPercent: 100, confirmRemoval: true, dryRun: false };
  const outcome = await runImport(tx, { ...terms, ...menu, currency });
  if (outcome.state !== 'failed') {
    const { restuid, owner, posUid, mode: updateMode, now, actor } = menu;
    const opening = {
      restuid,
      owner,
      kind: 'import',
      posUid,
      updateMode,
      now,
      ...(actor !== undefined && { actor }),
    } as const;
    await recordImport(tx, opening, outcome);
    return outcome;
  }
  const first = outcome.errors.slice(0, 5).map(({ pointer, code, message }) => `${pointer}: ${code}, ${message}`);
  throw new MenuRefused(`${outcome.errorCount} faults in the menu: ${first.join('; ')}`, outcome);
};
