/** Operations that change the menu or report its changes (interface 11.3): import, plans, imports, revert. */
import type { Kysely } from 'kysely';
import { z } from 'zod';
import { Fault } from '#src/contract/fault.ts';
import type { Key } from '#src/platform/db/bounded-list.ts';
import { isRepeated } from '#src/platform/db/transaction.ts';
import { type Operation, type OperationInput, operation } from '#src/platform/http/operation.ts';
import { type Cursors, cursorParams, pageAnswer } from '#src/platform/http/paging.ts';
import { integer, optional, text } from '#src/platform/http/values.ts';
import type { Logger } from '#src/platform/log.ts';
import { requireRestaurant } from '../../restaurants/require-restaurant.ts';
import type { Restaurant } from '../../restaurants/restaurant.ts';
import { applyPlan } from './apply-plan.ts';
import { type OpenImport, openImport } from './import-record.ts';
import { importAnswer, listedAnswer } from './import-schema.ts';
import { importFault, importJson, recordView } from './import-view.ts';
import { type ImportParams, importParams, unknownFieldsOf } from './read/import-params.ts';
import type { Finding } from './report/report.ts';
import { revertMenu } from './revert-menu.ts';
import { type ImportOutcome, runImport } from './run-import.ts';
import { listImports } from './write/import-list-store.ts';
import { findImport, type ImportRecord, readReport } from './write/record-store.ts';

export type ImportDeps = {
  /** The pool: the progress of a running import is not written in its transaction. */
  db: Kysely<unknown>;
  log: Logger;
  cursors: Cursors;
};

export const importOperations = (deps: ImportDeps): Operation[] => [
  importOperation(deps),
  revertOperation(deps),
  importsOperation(deps),
];

const answer = z.object({ import: importAnswer.describe('What was done or planned') });

type Answered = { json: string };

const importOperation = (deps: ImportDeps): Operation =>
  operation({
    method: 'POST',
    path: '/menu/import',
    summary: 'Replace or merge the menu of a point of sale, plan that, or apply a plan',
    errors: ['IMPORT_ERROR', 'NOT_FOUND', 'CONFLICT'],
    emits: ['menu.changed'],
    params: importParams,
    answer,
    body: { bytesMax: 32 * 1024 * 1024, timeoutMs: 120_000 },
    longWork: true,
    handle: async (input) => {
      const restaurant = await requireRestaurant(input.db, input.restuid);
      return input.params.plan_id === undefined
        ? importSent(deps, input, restaurant)
        : applyNamed(deps, input, restaurant, input.params.plan_id);
    },
  });

const importSent = async (
  deps: ImportDeps,
  { db, restuid, caller, params, now }: OperationInput<ImportParams>,
  restaurant: Restaurant,
): Promise<Answered> => {
  const { pos_uid: posUid, update_mode: mode } = params;
  if (posUid === undefined || mode === undefined) throw new Error('the parameters of menu/import were not validated');
  const open = openImport(deps, { restuid, owner: caller.id, kind: 'import', posUid, updateMode: mode, now });
  return finishWith(open, db, restaurant, () =>
    runImport(db, {
      restuid,
      owner: caller.id,
      posUid,
      mode,
      currency: restaurant.currency,
      categories: params.categories ?? [],
      products: params.products ?? [],
      maxRemovalPercent: params.max_removal_percent,
      confirmRemoval: params.confirm_removal,
      dryRun: params.dry_run,
      unknownFields: unknownFieldsOf(params),
      progress: open.progress,
      now,
    }),
  );
};

/** Records the outcome: in the transaction, or outside it when the transaction is rolled back. */
const finishWith = async (
  open: OpenImport,
  tx: Kysely<unknown>,
  restaurant: Restaurant,
  work: () => Promise<ImportOutcome>,
): Promise<Answered> => {
  let outcome: ImportOutcome;
  try {
    outcome = await work();
    if (outcome.state !== 'failed') {
      const { record, report } = await open.finish(tx, outcome);
      return { json: importJson(record, report, restaurant) };
    }
  } catch (error) {
    // The repetition of a transaction has a record of its own.
    await (error instanceof Fault || (await isRepeated(tx, error)) ? open.discard() : open.fail());
    throw error;
  }
  const { record } = await open.fail(outcome);
  const { items, warnings, errors } = outcome;
  throw importFault(outcome, { ...recordView(record, restaurant), items, warnings, errors });
};

const applyNamed = async (
  deps: ImportDeps,
  { db, restuid, caller, params, now }: OperationInput<ImportParams>,
  restaurant: Restaurant,
  planId: string,
): Promise<Answered> => {
  // Progress gets a record of its own: the record of the plan stays locked until the plan is applied.
  const open = openImport(deps, { restuid, owner: caller.id, kind: 'import', posUid: null, updateMode: null, now });
  try {
    const { confirm_removal: confirmRemoval } = params;
    const plan = { restuid, owner: caller.id, planId, confirmRemoval, progress: open.progress, now };
    const result = await applyPlan(db, plan);
    switch (result.kind) {
      case 'applied':
        return { json: importJson(result.record, result.report, restaurant) };
      case 'not_found':
        throw new Fault('NOT_FOUND', 'No such plan');
      case 'moved':
        throw new Fault(
          'CONFLICT',
          `The menu is at version ${result.version}, the plan was made at ${result.baseVersion}`,
        );
      case 'outdated':
        throw new Fault('CONFLICT', 'Elements moved to another point of sale since the plan was made');
      case 'guarded':
        throw guardFault(result.record, result.report, result.errors, restaurant);
    }
  } finally {
    await open.discard();
  }
};

const guardFault = (record: ImportRecord, report: string, errors: Finding[], restaurant: Restaurant): Fault => {
  const lists = JSON.parse(report) as z.infer<typeof importAnswer>;
  const shown = recordView({ ...record, state: 'failed' }, restaurant);
  return importFault({ errors, errorCount: errors.length }, { ...shown, ...lists, errors });
};

const revertOperation = (deps: ImportDeps): Operation =>
  operation({
    method: 'POST',
    path: '/menu/revert',
    summary: 'Put the elements of this client back as they were right after one of its versions',
    errors: ['NOT_FOUND'],
    emits: ['menu.changed'],
    params: z.object({
      version: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }).describe(
        'Version of the menu that this client made: one of its latest 50',
      ),
    }),
    answer,
    longWork: true,
    handle: async ({ db, restuid, caller, params, now }) => {
      const restaurant = await requireRestaurant(db, restuid);
      const owner = caller.id;
      const open = openImport(deps, { restuid, owner, kind: 'revert', posUid: null, updateMode: null, now });
      return finishWith(open, db, restaurant, async () => {
        const { progress } = open;
        const outcome = await revertMenu(db, { restuid, owner, version: params.version, progress, now });
        if (outcome === undefined) throw new Fault('NOT_FOUND', 'No such version of this client');
        return outcome;
      });
    },
  });

const importsOperation = ({ cursors }: ImportDeps): Operation =>
  operation({
    method: 'GET',
    path: '/menu/imports',
    summary: 'Imports, plans and reverts: running ones first, then the latest',
    errors: ['NOT_FOUND'],
    params: z.object({
      ...cursorParams,
      version: optional(integer({ min: 0, max: Number.MAX_SAFE_INTEGER })).describe(
        'Only the import with this `version`, with its full report',
      ),
      plan_id: optional(text({ max: 64 })).describe('Only the import with this `plan_id`, with its full report'),
    }),
    answer: z.object({
      imports: z
        .array(listedAnswer)
        .describe('Running ones first, then the latest. An API key sees those of all clients, a client its own'),
      ...pageAnswer,
    }),
    // A single import with its report may have megabytes.
    longWork: true,
    handle: async ({ db, restuid, caller, params }) => {
      const restaurant = await requireRestaurant(db, restuid);
      // An API key of the restaurant sees all imports, a client sees its own.
      const clientId = caller.kind === 'api_key' ? null : caller.id;
      const { version, plan_id: planId } = params;
      const scope = { list: 'imports', restuid, clientId, version, planId };
      const query = cursors.read<Key>(params, scope);
      if (version === undefined && planId === undefined) {
        const listed = await listImports(db, restuid, clientId, query);
        const imports = listed.rows.map((each) => recordView(each, restaurant));
        return { body: { imports, ...cursors.answer(query, scope, listed) } };
      }
      const found = await findImport(db, restuid, clientId, { version, planId });
      if (found === undefined) throw new Fault('NOT_FOUND', 'No such import');
      const report = await readReport(db, restuid, found.uid);
      const lists = report === undefined ? { items: [], warnings: [], errors: [] } : (JSON.parse(report) as object);
      const one = { ...recordView(found, restaurant), ...lists };
      const shown = query.offset === 0 ? [one] : [];
      return {
        body: { imports: shown, ...cursors.answer(query, scope, { more: false, total: 1, last: undefined }) },
      };
    },
  });
