/** Top-level parameters of menu/import (interface 11.3). The import itself validates categories and products. */
import { z } from 'zod';
import { boolean, integer, oneOf, optional, text, uid, withDefault } from '#src/platform/http/values.ts';
import { describedCategories, describedProducts } from '../elements/described-elements.ts';
import { restrictionsMax, valuesMax } from './import-terms.ts';

const categoriesMax = 1_000;
const productsMax = 5_000;

/** A JSON array whose items are not checked here. */
const rawArray = (max: number, described: Record<string, unknown>): z.ZodType<unknown[]> =>
  z
    .unknown()
    .transform((input, ctx): unknown[] => {
      const refuse = (code: string, message: string): void =>
        ctx.addIssue({ code: 'custom', message, params: { code } });
      if (!Array.isArray(input)) refuse('TYPE', 'must be an array in the body');
      else if (input.length > max) refuse('LENGTH', `must have at most ${max} items`);
      else return input;
      return z.NEVER;
    })
    .meta({ ...described, maxItems: max }) as unknown as z.ZodType<unknown[]>;

const importShape = {
  restuid: optional(uid()).describe('The restaurant; required when the client has several'),
  pos_uid: optional(text({ max: 64 })).describe(
    'Your name of the point of sale whose menu this is; a replace removes elements of this one only. Required without `plan_id`',
  ),
  update_mode: optional(oneOf(['replace', 'merge'])).describe(
    '`merge`: creates and updates, members left out stay as they are; `replace`: this is the whole menu of the point of sale, members left out get their default and elements left out are removed. Required without `plan_id`',
  ),
  categories: optional(rawArray(categoriesMax, describedCategories)).describe(
    'Categories to create or update; required for a replace',
  ),
  products: optional(rawArray(productsMax, describedProducts)).describe(
    'Products to create or update; required for a replace. All options of a request together may have 50,000 values',
  ),
  dry_run: withDefault(boolean(), false).describe('True: the import is planned and reported, and nothing changes'),
  max_removal_percent: withDefault(integer({ min: 0, max: 100 }), 50).describe(
    'A replace that would remove a greater share of the categories or of the products in its reach, in percent, is refused unless `confirm_removal` is true',
  ),
  confirm_removal: withDefault(boolean(), false).describe('True: more than `max_removal_percent` may be removed'),
  plan_id: optional(text({ max: 64 })).describe(
    'The plan of a dry run that is to be applied, once and within 24 hours; only `confirm_removal` may stand beside it',
  ),
};

/**
 * Loose, so that the report can name unknown members. Checked even when members have faults, so that one answer has
 * all.
 */
export const importParams = z
  .looseObject(importShape)
  .superRefine(
    (params, ctx) => {
      const refuse = (name: string, code: string, message: string): void =>
        ctx.addIssue({ code: 'custom', path: [name], message, params: { code } });
      // A plan is applied unchanged. Further members are refused, because the caller could believe that they change the
      // plan.
      const withPlan = ['pos_uid', 'update_mode', 'categories', 'products', 'dry_run'] as const;
      if (params.plan_id !== undefined)
        for (const name of withPlan)
          if (params[name] !== undefined && params[name] !== false)
            refuse(name, 'CONFLICTING_VALUES', 'cannot be sent with plan_id');
      const required: (keyof typeof importShape)[] = ['pos_uid', 'update_mode'];
      if (params.update_mode === 'replace') required.push('categories', 'products');
      if (params.plan_id === undefined)
        for (const name of required) if (params[name] === undefined) refuse(name, 'REQUIRED', 'is required');
      if (params.plan_id !== undefined) return;
      const { values, restrictions } = countInside([params.categories, params.products]);
      if (values > valuesMax)
        refuse('products', 'LENGTH', `there are ${values} option values, and at most ${valuesMax} may be sent`);
      if (restrictions > restrictionsMax.sent) {
        const message = `restrict_to_primary_value_ext_ids has ${restrictions} items in all option values together, and at most ${restrictionsMax.sent} may be sent: send fewer elements at once, or leave the list out where a value is always offered`;
        refuse('products', 'LENGTH', message);
      }
    },
    { when: () => true },
  )
  .meta({ id: 'MenuImportRequest', description: 'A menu to import or to plan, or a plan to apply' });

export type ImportParams = z.infer<typeof importParams>;

export const unknownFieldsOf = (params: object): string[] =>
  Object.keys(params).filter((name) => !Object.hasOwn(importShape, name));

const countInside = (lists: readonly unknown[]): { values: number; restrictions: number } => {
  let [values, restrictions] = [0, 0];
  for (const elements of lists)
    for (const element of Array.isArray(elements) ? elements : [])
      for (const option of arrayIn(element, 'options'))
        for (const value of arrayIn(option, 'option_values')) {
          values += 1;
          restrictions += arrayIn(value, 'restrict_to_primary_value_ext_ids').length;
        }
  return { values, restrictions };
};

const arrayIn = (holder: unknown, name: string): unknown[] => {
  const inner: unknown = typeof holder === 'object' && holder !== null ? Reflect.get(holder, name) : undefined;
  return Array.isArray(inner) ? inner : [];
};
