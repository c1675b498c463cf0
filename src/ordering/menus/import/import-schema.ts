/** The members of an import in answers (interface 11.3), with their meaning for the reference. */
import { z } from 'zod';
import { describedErrors, describedItems, describedWarnings } from './report/described-report.ts';
import type { Finding, ReportItem } from './report/report.ts';

const count = z.int().min(0);
const instant = z.string().meta({ format: 'date-time' });

const actionCounts = z
  .object({
    created: count.describe('New elements, and elements that were removed before and returned'),
    updated: count.describe('Elements with a changed member; each option and value counts for itself'),
    unchanged: count.describe('Elements that are as they were'),
    removed: count.describe('Elements that left the menu'),
  })
  .meta({ id: 'ActionCounts', description: 'How many elements of one sort met each action' });

const counts = z
  .object({
    categories: actionCounts.describe('Of categories'),
    products: actionCounts.describe('Of products'),
    options: actionCounts.describe('Of options, those of categories and of products together'),
    option_values: actionCounts.describe('Of option values'),
  })
  .meta({ id: 'ImportCounts', description: 'The actions of an import, by the sort of element' });

const recordMembers = {
  version: z
    .int()
    .nullable()
    .describe('Version of the menu afterwards, the present one if nothing changed; null when nothing was applied'),
  base_version: z.int().nullable().describe('Version of the menu before; null until it is known'),
  plan_id: z.string().nullable().describe('Names the plan of a dry run when it is to be applied; null without one'),
  plan_expires_iso: instant
    .nullable()
    .describe('Until then the plan can be applied, 24 hours after the dry run; null without a plan'),
  state: z
    .enum(['planned', 'running', 'applied', 'failed'])
    .describe(
      '`planned`: a dry run, nothing was changed; `running`: not finished yet; `applied`: the menu is as the import wants it; `failed`: nothing was changed',
    ),
  percent: z.int().min(0).max(100).describe('How much of a running import is done, in percent; 100 when it is applied'),
  kind: z.enum(['import', 'revert']).describe('`revert`: an earlier version was restored by menu/revert'),
  pos_uid: z
    .string()
    .nullable()
    .describe('The point of sale that sent it; null for a revert, and while a plan is being applied'),
  update_mode: z
    .enum(['replace', 'merge'])
    .nullable()
    .describe('As in the request; null for a revert, and while a plan is being applied'),
  client_id: z.string().describe('The API client that sent it; `panel` when none did'),
  created: z.string().nullable().describe('`created_iso` as a legacy date'),
  created_iso: instant.nullable().describe('When it began; null in a plan'),
  counts: counts.describe('How many elements it created, updated, left unchanged and removed; for a plan, would'),
  removal_percent: z
    .number()
    .min(0)
    .max(100)
    .describe(
      'Share of the categories or of the products in reach of a replace that it removes, in percent: the greater of the two; 0 for a merge',
    ),
};

/** The members of one import in a list of imports. */
export const recordAnswer = z.object(recordMembers);

/**
 * Items and findings already have their final form when they are created. There may be tens of thousands, so they are not
 * copied here.
 */
const list = <T>(described: Record<string, unknown>) =>
  z.custom<readonly T[]>((value) => Array.isArray(value)).meta(described);

const lists = {
  items: list<ReportItem>(describedItems).describe('What happened to each element, without the unchanged ones'),
  warnings: list<Finding>(describedWarnings).describe('What is valid but probably not meant; it stops nothing'),
  errors: list<Finding>(describedErrors).describe('Every fault, at most 20,000; empty when the import was possible'),
};

export const importAnswer = z
  .object({ ...recordMembers, ...lists })
  .meta({ id: 'ImportReport', description: 'What an import, a dry run or a revert does to the menu' });

/** An item of menu/imports. The lists are included only when the request names one import. */
export const listedAnswer = z
  .object({
    ...recordMembers,
    items: lists.items.optional().describe('As in the report; only when the request names one import'),
    warnings: lists.warnings.optional().describe('As in the report; only when the request names one import'),
    errors: lists.errors.optional().describe('As in the report; only when the request names one import'),
  })
  .meta({ id: 'MenuImport', description: 'An import, a plan or a revert, with its progress and its result' });
