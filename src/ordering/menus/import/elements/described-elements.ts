/**
 * JSON Schema of what an import takes and reports (interface 11.3), derived from the members that validate an import.
 * It is documentation only: an import may have thousands of elements, so read-elements.ts reads them one by one.
 */
import { z } from 'zod';
import { optional, text } from '#src/platform/http/values.ts';
import { categoryMembers, type Member, type Members, optionMembers, productMembers, valueMembers } from './members.ts';

/** Members whose default depends on the rest of the element. */
const dependent: ReadonlySet<string> = new Set(['position', 'max_selectable', 'max_quantity']);

const membersOf = <T>(members: Members<T>): Record<string, z.ZodType> =>
  Object.fromEntries(Object.values<Member<unknown>>(members as never).map((member) => [member.field, typeOf(member)]));

const typeOf = ({ field, type, fallback, clearable }: Member<unknown>): z.ZodType => {
  if (fallback === undefined) return type;
  const open = clearable === true ? type.nullable().optional() : optional(type);
  return fallback === null || dependent.has(field) ? open : open.meta({ 'x-default': fallback });
};

const extId = text({ max: 100 });

const value = z.object({
  ext_id: extId,
  ...membersOf(valueMembers),
  restrict_to_primary_value_ext_ids: z.array(extId).optional(),
});

const option = z.object({
  ext_id: extId,
  ...membersOf(optionMembers),
  option_values: z.array(value).max(200).optional(),
});

const options = z.array(option).max(100).optional();

const finding = z.object({
  pointer: z.string().nullable(),
  ext_id: z.string().nullable(),
  code: z.string(),
  message: z.string(),
});

const item = z.object({
  kind: z.enum(['category', 'product', 'option', 'option_value']),
  ext_id: z.string().nullable(),
  uid: z.string(),
  action: z.enum(['created', 'updated', 'removed']),
  pointer: z.string().nullable(),
  changes: z.array(z.object({ field: z.string(), from: z.unknown(), to: z.unknown() })),
});

const arrayOf = (type: z.ZodType): Record<string, unknown> => {
  const { $schema: _dialect, ...items } = z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' });
  return { type: 'array', items };
};

export const describedCategories = arrayOf(z.object({ ext_id: extId, ...membersOf(categoryMembers), options }));
export const describedProducts = arrayOf(
  z.object({ ext_id: extId, category_ext_id: extId, ...membersOf(productMembers), options }),
);
export const describedItems = arrayOf(item);
export const describedFindings = arrayOf(finding);
