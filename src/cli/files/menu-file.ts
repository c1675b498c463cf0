/** Reads a menu file: JSON as in the body of menu/import, or CSV with one row per product, option value or both. */
import { readFile } from 'node:fs/promises';
import { readExactJson } from '#src/platform/http/exact-json.ts';
import { type CsvRow, readCsv } from './read-csv.ts';

export type MenuFile = {
  categories: unknown[];
  products: unknown[];
  /** For a CSV file: the line of each element, by JSON pointer (`/products/3`). */
  lines: ReadonlyMap<string, number>;
  /** A new category without a name gets its ext_id as its name: the rows of a CSV file may only refer to a category. */
  namesByExtId: boolean;
};

/** Text for --help. */
export const csvColumns = `Columns of a CSV file (the first row names them; separated by comma, semicolon or tab; in any order):
  ext_id            id of the product; rows with the same ext_id add options and values to it
  name, price       of the product, on the first row with its ext_id; later rows leave them empty or repeat them
  category_ext_id   its category; category_name on any row names it (a new one without has its ext_id as name,
                    and a merge leaves the name of a present one as it is)
  description, image, hidden (true or false), position, inherits_options (sync, copy, none)
  allergens, symbols, subrestaurant_uids   several with | in between
  price:<dmethod>   price for one delivery method, such as price:1
  option_ext_id     id of an option of the product, with option_name, option_type (single or multiple),
                    option_min, option_max, option_max_quantity and option_primary on its first row
  value_ext_id      id of a value of that option, with value_name, value_operator (+ - =) and value_price`;

/** Throws for a file that cannot be read, with the line. The import itself validates the menu. */
export const readMenuFile = async (file: string, mode: 'merge' | 'replace'): Promise<MenuFile> => {
  const text = textOf(await readFile(file));
  return /^\s*\{/.test(text) ? readJson(text, mode) : menuOfRows(readCsv(text));
};

/** Throws for another encoding, whose letters would be stored as U+FFFD. */
const textOf = (raw: Buffer): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(raw);
  } catch {
    throw new Error('is not valid UTF-8; save the file as UTF-8');
  }
};

/** The options for members that a body of menu/import has beside the menu. */
const optionOf: ReadonlyMap<string, string> = new Map([
  ['restuid', '--restaurant'],
  ['pos_uid', '--pos-uid'],
  ['update_mode', '--mode'],
  ['dry_run', '--dry-run'],
  ['max_removal_percent', '--max-removal-percent'],
  ['confirm_removal', '--confirm-removal'],
]);

const readJson = (text: string, mode: 'merge' | 'replace'): MenuFile => {
  const { categories, products, ...others } = readExactJson(text) as Record<string, unknown>;
  // A body that only asks for a plan, or says how to import, would otherwise be imported in another way.
  const [other] = Object.keys(others);
  if (other !== undefined) {
    const option = optionOf.get(other);
    const remedy = option === undefined ? 'remove it' : `give it as the option ${option}`;
    throw new Error(`only categories and products are read from the file, not ${other}: ${remedy}`);
  }
  const arrayOf = (name: string, elements: unknown): unknown[] => {
    const isMissing = elements === undefined || elements === null;
    if (isMissing && mode === 'replace')
      throw new Error(`${name} is missing, and --mode replace would remove them all: add it, if need be as []`);
    if (isMissing) return [];
    if (!Array.isArray(elements)) throw new Error(`${name} must be an array`);
    return elements as unknown[];
  };
  return {
    categories: arrayOf('categories', categories),
    products: arrayOf('products', products),
    lines: new Map(),
    namesByExtId: false,
  };
};

type Element = Record<string, unknown>;

const required = ['ext_id', 'name', 'price', 'category_ext_id'];

const menuOfRows = ({ columns, rows }: ReturnType<typeof readCsv>): MenuFile => {
  const missing = required.filter((name) => !columns.includes(name));
  if (missing.length > 0) throw new Error(`the first row does not name ${missing.join(', ')}`);
  const unknown = columns.filter((name) => name !== '' && !known.has(name) && !name.startsWith('price:'));
  if (unknown.length > 0) throw new Error(`the first row names unknown columns: ${unknown.join(', ')}`);
  const categories = new Map<string, Element>();
  const products = new Map<string, Element>();
  const lines = new Map<string, number>();
  const firstRows = new Map<string, CsvRow>();
  for (const row of rows) {
    assertComplete(row);
    addCategory(categories, row);
    // A row without ext_id becomes an element of its own, so that the import reports what it lacks.
    const id = row.fields.ext_id ?? `line ${row.line}`;
    const product = products.get(id) ?? productOf(row);
    if (!products.has(id)) {
      lines.set(`/products/${products.size}`, row.line);
      products.set(id, product);
    }
    addOption(product, row);
    assertRepeats(row, firstRows, [id], isOfProduct);
    const { option_ext_id: option, category_ext_id: category } = row.fields;
    if (option !== undefined) assertRepeats(row, firstRows, [id, option], (name) => Object.hasOwn(optionColumns, name));
    if (row.fields.category_name !== undefined)
      assertRepeats(row, firstRows, ['', '', category ?? ''], (name) => name === 'category_name');
  }
  return { categories: [...categories.values()], products: [...products.values()], lines, namesByExtId: true };
};

/** Throws for fields that belong to nothing, since they would be left out. */
const assertComplete = ({ line, fields }: CsvRow): void => {
  if (fields[''] !== undefined)
    throw new Error(`line ${line}: a column without a name has "${fields['']}"; name the column in the first row`);
  for (const [id, columns] of [
    ['option_ext_id', [...Object.keys(optionColumns), ...Object.keys(valueColumns)]],
    ['value_ext_id', Object.keys(valueColumns)],
    ['category_ext_id', ['category_name']],
  ] as const) {
    const lone = columns.find((name) => fields[name] !== undefined);
    if (fields[id] === undefined && lone !== undefined)
      throw new Error(`line ${line}: ${lone} is set without ${id}; set ${id} too, or leave ${lone} empty`);
  }
};

/** Throws for a field that differs from that of the first row about the same element, since only that one is read. */
const assertRepeats = (
  row: CsvRow,
  firstRows: Map<string, CsvRow>,
  element: readonly string[],
  isOfElement: (column: string) => boolean,
): void => {
  const key = JSON.stringify(element);
  const first = firstRows.get(key) ?? row;
  firstRows.set(key, first);
  const other = Object.keys(row.fields).find((name) => isOfElement(name) && row.fields[name] !== first.fields[name]);
  if (other === undefined) return;
  const { line } = first;
  throw new Error(`line ${row.line}: ${other} differs from line ${line}, which is read; leave it empty or repeat it`);
};

const addCategory = (categories: Map<string, Element>, { fields }: CsvRow): void => {
  const id = fields.category_ext_id;
  if (id === undefined) return;
  const category = categories.get(id) ?? { ext_id: id };
  if (fields.category_name !== undefined) category.name = fields.category_name;
  categories.set(id, category);
};

const same = [
  'ext_id',
  'name',
  'price',
  'category_ext_id',
  'description',
  'image',
  'hidden',
  'position',
  'inherits_options',
];
const lists = ['allergens', 'symbols', 'subrestaurant_uids'];

const optionColumns = {
  option_ext_id: 'ext_id',
  option_name: 'name',
  option_type: 'type',
  option_min: 'min_selectable',
  option_max: 'max_selectable',
  option_max_quantity: 'max_quantity',
  option_primary: 'primary',
};
const valueColumns = {
  value_ext_id: 'ext_id',
  value_name: 'name',
  value_operator: 'price_operator',
  value_price: 'price_operand',
};

const known = new Set([
  ...same,
  ...lists,
  'category_name',
  ...Object.keys(optionColumns),
  ...Object.keys(valueColumns),
]);

const isOfProduct = (column: string): boolean =>
  same.includes(column) || lists.includes(column) || column.startsWith('price:');

const productOf = ({ fields }: CsvRow): Element => {
  const product = pick(fields, Object.fromEntries(same.map((name) => [name, name])));
  for (const name of lists)
    if (fields[name] !== undefined) product[name] = fields[name].split('|').map((item) => item.trim());
  const prices = Object.entries(fields).filter(([name]) => name.startsWith('price:'));
  if (prices.length > 0)
    product.prices_table = Object.fromEntries(prices.map(([name, price]) => [name.slice('price:'.length), price]));
  return product;
};

const addOption = (product: Element, { fields }: CsvRow): void => {
  if (fields.option_ext_id === undefined) return;
  product.options ??= [];
  const option = addTo(product.options as Element[], fields.option_ext_id, () => ({
    ...pick(fields, optionColumns),
    option_values: [],
  }));
  if (fields.value_ext_id !== undefined) (option.option_values as Element[]).push(pick(fields, valueColumns));
};

const addTo = (elements: Element[], id: string, make: () => Element): Element => {
  const found = elements.find(({ ext_id }) => ext_id === id);
  if (found !== undefined) return found;
  const made = make();
  elements.push(made);
  return made;
};

const pick = (fields: Readonly<Record<string, string>>, columns: Readonly<Record<string, string>>): Element =>
  Object.fromEntries(
    Object.entries(columns).flatMap(([column, member]) =>
      fields[column] === undefined ? [] : [[member, fields[column]]],
    ),
  );
