/**
 * JSON Schema of what an import takes (interface 11.3), derived from the members that validate an import.
 * It is documentation only: an import may have thousands of elements, so read-elements.ts reads them one by one.
 */
import { z } from 'zod';
import { optional, text } from '#src/platform/http/values.ts';
import { categoryMembers, type Member, type Members, optionMembers, productMembers, valueMembers } from './members.ts';

/** Members whose default depends on the rest of the element. */
const dependent: ReadonlySet<string> = new Set(['position', 'max_selectable', 'max_quantity']);

/** The description is moved to the outside, because it is about null too. */
const orNull = (type: z.ZodType): z.ZodType =>
  type
    .meta({ description: undefined })
    .nullable()
    .optional()
    .describe(type.description ?? '');

type Describe = (member: Member<unknown>) => z.ZodType;

const membersOf = <T>(members: Members<T>, describe: Describe): Record<string, z.ZodType> =>
  Object.fromEntries(
    Object.values<Member<unknown>>(members as never).map((member) => [member.field, describe(member)]),
  );

/** An option and its values are always stated as a whole. */
const whole: Describe = ({ field, type, fallback, clearable }) => {
  if (fallback === undefined) return type;
  const open = clearable === true ? orNull(type) : optional(type);
  return fallback === null || dependent.has(field) ? open : open.meta({ 'x-default': fallback });
};

/**
 * A category or a product may be merged, and then keeps what is not sent. So nothing is required and no `default` stands in its
 * schema: generated code would refuse to leave a member out, or send the default and reset it.
 */
const mergeable: Describe = ({ field, type, fallback, clearable }) => {
  const open = clearable === true ? orNull(type) : optional(type);
  if (fallback === null || dependent.has(field)) return open;
  const absent = fallback === undefined ? 'Required' : `By default \`${JSON.stringify(fallback)}\``;
  return open.describe(`${type.description}. ${absent} when it is new and in a replace`);
};

const extIdType = text({ max: 100 });
const extId = extIdType.describe(
  'Your own id of it. With it a later import finds the same element, which keeps its uid',
);
const innerExtId = extIdType.describe(
  'Your own id of it, unique within its parent; with it a later import finds it again',
);

/**
 * Documentation of one object. These objects are parts of schemas that only count the elements, so their names stand in
 * the fragment itself: `id` would move them to definitions that the document around it does not have.
 */
export const named = (name: string, text: string, members: Record<string, z.ZodType>) =>
  z.object(members).meta({ 'x-name': name, description: text });

const value = named('ImportedOptionValue', 'One choice of an option', {
  ext_id: innerExtId,
  ...membersOf(valueMembers, whole),
  restrict_to_primary_value_ext_ids: z
    .array(extIdType)
    .optional()
    .describe('Ids of values of the primary option: this one is offered only with one of them; by default always'),
});

const option = named('ImportedOption', 'A question to the customer about a product, with the possible answers', {
  ext_id: innerExtId,
  ...membersOf(optionMembers, whole),
  option_values: z.array(value).max(200).optional().describe('Its values, by default in the sequence of the array'),
});

const options = z
  .array(option)
  .max(100)
  .optional()
  .describe(
    'Its own options. They take the place of the former ones; when absent, a merge keeps these and a replace removes them',
  );

const category = named('ImportedCategory', 'A category as an import states it', {
  ext_id: extId,
  ...membersOf(categoryMembers, mergeable),
  options,
});

const product = named('ImportedProduct', 'A product as an import states it', {
  ext_id: extId,
  category_ext_id: extIdType
    .optional()
    .describe(
      'The `ext_id` of its category, sent here or by an earlier import of the client. Required when it is new and in a replace',
    ),
  ...membersOf(productMembers, mergeable),
  options,
});

/** JSON Schema of an array, for the documentation of a schema that only counts its items. */
export const arrayOf = (type: z.ZodType): Record<string, unknown> => {
  const { $schema: _dialect, ...items } = z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' });
  return { type: 'array', items };
};

export const describedCategories = arrayOf(category);
export const describedProducts = arrayOf(product);
