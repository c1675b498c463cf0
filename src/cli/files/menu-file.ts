/** Reads a menu file: JSON as in the body of menu/import, or CSV with one row per product, option value or both. */
import { readFile } from 'node:fs/promises';
import { readExactJson } from '#src/platform/http/exact-json.ts';
import { type CsvRow, readCsv } from './read-csv.ts';

export type MenuFile = {
  categories: unknown[];
  products: unknown[];
  /** For a CSV file: the line of each element, by JSON pointer (`/products/3`). */
  lines: ReadonlyMap<string, number>;
};

/** Text for --help. */
export const csvColumns = `Columns of a CSV file (the first row names them; separated by comma, semicolon or tab; in any order):
  ext_id            id of the product; rows with the same ext_id add options and values to it
  name, price       of the product, on the first row with its ext_id
  category_ext_id   its category; category_name on any row makes that category (else its ext_id is its name)
  description, image, hidden (true or false), position, inherits_options (sync, copy, none)
  allergens, symbols, subrestaurant_uids   several with | in between
  price:<dmethod>   price for one delivery method, such as price:1
  option_ext_id     id of an option of the product, with option_name, option_type (single or multiple),
                    option_min, option_max, option_max_quantity and option_primary on its first row
  value_ext_id      id of a value of that option, with value_name, value_operator (+ - =) and value_price`;

/** Throws for a file that cannot be read, with the line. The import itself validates the menu. */
export const readMenuFile = async (file: string): Promise<MenuFile> => {
  const text = textOf(await readFile(file));
  return /^\s*\{/.test(text) ? readJson(text) : menuOfRows(readCsv(text));
};

/** Throws for another encoding, whose letters would be stored as U+FFFD. */
const textOf = (raw: Buffer): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(raw);
  } catch {
    throw new Error('is not valid UTF-8; save the file as UTF-8');
  }
};

const readJson = (text: string): MenuFile => {
  const menu = readExactJson(text) as Record<string, unknown>;
  const arrayOf = (name: string): unknown[] => {
    const elements = menu[name] ?? [];
    if (!Array.isArray(elements)) throw new Error(`${name} must be an array`);
    return elements as unknown[];
  };
  return { categories: arrayOf('categories'), products: arrayOf('products'), lines: new Map() };
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
  for (const row of rows) {
    addCategory(categories, row);
    // A row without ext_id becomes an element of its own, so that the import reports what it lacks.
    const id = row.fields.ext_id ?? `line ${row.line}`;
    const product = products.get(id) ?? productOf(row);
    if (!products.has(id)) {
      lines.set(`/products/${products.size}`, row.line);
      products.set(id, product);
    }
    addOption(product, row);
  }
  return { categories: [...categories.values()], products: [...products.values()], lines };
};

const addCategory = (categories: Map<string, Element>, { fields }: CsvRow): void => {
  const id = fields.category_ext_id;
  if (id === undefined) return;
  const category = categories.get(id) ?? { ext_id: id, name: id };
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
