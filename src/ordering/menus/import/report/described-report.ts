/** JSON Schema of what an import reports (interface 11.3). It is documentation only, like that of its elements. */
import { z } from 'zod';
import { arrayOf, named } from '../elements/described-elements.ts';
import type { FindingCode } from './report.ts';

const pointer = z.string().nullable();
const reportedExtId = z.string().nullable();

const finding = (name: string, text: string, codes: readonly FindingCode[]) =>
  named(name, text, {
    pointer: pointer.describe('JSON pointer into the request; null when it is about no part of it'),
    ext_id: reportedExtId.describe('The `ext_id` of the element; null when it has none or none is concerned'),
    code: z.enum(codes).describe('What it is about; it does not change within version 1'),
    message: z.string().describe('The same in a sentence, for people; it may change'),
  });

/** `text`: the meaning at its place. See `named` for these keys. */
const anyValue = (text: string) =>
  z.unknown().meta({ 'x-name': 'AnyValue', 'x-site': { description: text }, description: 'Any JSON value' });

const change = named('FieldChange', 'A member that an import changes', {
  field: z.string().describe('Name of the member'),
  from: anyValue('Its value before'),
  to: anyValue('Its value afterwards'),
});

const item = named('ImportItem', 'What an import does to one element', {
  kind: z.enum(['category', 'product', 'option', 'option_value']).describe('Sort of element'),
  ext_id: reportedExtId.describe('Id that its import gave it; null for an element that was not imported'),
  uid: z.string().describe('Its uid in the menu'),
  action: z
    .enum(['created', 'updated', 'removed'])
    .describe('`created`: it is new, or it was removed before and returned; `updated`: members have changed'),
  pointer: pointer.describe('JSON pointer to it in the request; null for one that was not sent'),
  changes: z.array(change).describe('The changed members of an updated element; empty for the other actions'),
});

export const describedItems = arrayOf(item);
export const describedErrors = arrayOf(
  finding('ImportError', 'A fault that stops an import', [
    'EXT_ID_MISSING',
    'EXT_ID_DUPLICATE',
    'CATEGORY_UNKNOWN',
    'VALUE_UNKNOWN',
    'OPTION_BOUNDS',
    'TWO_PRIMARY',
    'REQUIRED',
    'TYPE',
    'RANGE',
    'LENGTH',
    'FORMAT',
    'ENUM',
    'REMOVAL_GUARD',
  ]),
);
export const describedWarnings = arrayOf(
  finding('ImportWarning', 'A part of an import that is valid but probably not meant', [
    'REMOVAL_GUARD',
    'PRICE_ZERO',
    'EMPTY_CATEGORY',
    'DUPLICATE_NAME',
    'OPTION_WITHOUT_VALUES',
    'UNKNOWN_FIELD',
  ]),
);
