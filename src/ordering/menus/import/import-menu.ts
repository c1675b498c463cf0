/** Gives a restaurant a menu without a request, for the panel's side of the house: demo and administration. */
import type { Kysely } from 'kysely';
import { requireRestaurant } from '../../restaurants/require-restaurant.ts';
import { noteImport } from './import-record.ts';
import type { Progress } from './progress.ts';
import { type ImportOutcome, runImport } from './run-import.ts';

export type MenuToImport = {
  restuid: string;
  /** Client id whose elements these become; null: the panel's, which no client's import reaches. */
  owner: string | null;
  posUid: string;
  mode: 'replace' | 'merge';
  /** As in the body of menu/import. */
  categories: readonly unknown[];
  products: readonly unknown[];
  /** Percent; left out: any share may be removed. */
  maxRemovalPercent?: number;
  confirmRemoval?: boolean;
  /** Only planned: the caller gives its transaction up. */
  dryRun?: boolean;
  progress?: Progress;
  now: Date;
};

/** A menu that cannot be taken as it is; the message names the first faults. */
export class MenuRefused extends Error {
  readonly outcome: ImportOutcome;

  constructor(message: string, outcome: ImportOutcome) {
    super(message);
    this.name = 'MenuRefused';
    this.outcome = outcome;
  }
}

/** Applies the menu in the caller's transaction. Throws MenuRefused when something is wrong with it. */
export const importMenu = async (tx: Kysely<unknown>, menu: MenuToImport): Promise<ImportOutcome> => {
  const { currency } = await requireRestaurant(tx, menu.restuid);
  const terms = { maxRemovalPercent: 100, confirmRemoval: true, dryRun: false };
  const outcome = await runImport(tx, { ...terms, ...menu, currency });
  if (outcome.state !== 'failed') {
    const { restuid, owner, posUid, mode: updateMode, now } = menu;
    await noteImport(tx, { restuid, owner, kind: 'import', posUid, updateMode, now }, outcome);
    return outcome;
  }
  const first = outcome.errors.slice(0, 5).map(({ pointer, code, message }) => `${pointer}: ${code}, ${message}`);
  throw new MenuRefused(`${outcome.errorCount} faults in the menu: ${first.join('; ')}`, outcome);
};
