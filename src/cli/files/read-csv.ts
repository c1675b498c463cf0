/**
 * CSV as spreadsheets write it (RFC 4180): quoted fields, doubled quotes, any line end; comma, semicolon or tab
 * between.
 */

export type CsvRow = {
  /** Line of the file on which it begins, from 1. */
  line: number;
  /** By the names of the first row; empty fields are left out. */
  fields: Readonly<Record<string, string>>;
};

export type Csv = { columns: string[]; rows: CsvRow[] };

/**
 * Throws when a quoted field has no end or goes on behind it, when a row has more fields than there are columns, and
 * when two columns have one name.
 */
export const readCsv = (text: string): Csv => {
  const [head, ...rest] = splitRows(text.replace(/^\uFEFF/, ''));
  const columns = (head?.fields ?? []).map((name) => name.trim());
  const twice = columns.find((name, index) => name !== '' && columns.indexOf(name) < index);
  if (twice !== undefined) throw new Error(`the first row names ${twice} twice`);
  const rows = rest.filter(({ fields }) => fields.some((field) => field.trim() !== ''));
  return {
    columns,
    rows: rows.map(({ line, fields }) => {
      if (fields.length > columns.length)
        throw new Error(`line ${line} has ${fields.length} fields, the first row names ${columns.length}`);
      const named = fields.map((field, index): [string, string] => [columns[index] ?? '', field.trim()]);
      return { line, fields: Object.fromEntries(named.filter(([, field]) => field !== '')) };
    }),
  };
};

type RawRow = { line: number; fields: string[] };

const splitRows = (text: string): RawRow[] => {
  const separator = separatorOf(text);
  const rows: RawRow[] = [];
  let row: RawRow = { line: 1, fields: [] };
  let line = 1;
  let at = 0;
  while (at < text.length) {
    const field = readField(text, at, separator, line);
    row.fields.push(field.value);
    line += field.value.split('\n').length - 1;
    at = field.end;
    if (text[at] === separator) {
      at += 1;
      if (at < text.length && !isLineEnd(text[at])) continue;
      // A separator at the end of a line has an empty field behind it.
      row.fields.push('');
    }
    at += text.startsWith('\r\n', at) ? 2 : 1;
    line += 1;
    rows.push(row);
    row = { line, fields: [] };
  }
  return rows;
};

const isLineEnd = (character: string | undefined): boolean => character === '\n' || character === '\r';

const readField = (text: string, from: number, separator: string, line: number): { value: string; end: number } => {
  if (text[from] !== '"') {
    let end = from;
    while (end < text.length && text[end] !== separator && !isLineEnd(text[end])) end += 1;
    return { value: text.slice(from, end), end };
  }
  let value = '';
  for (let at = from + 1; ; ) {
    const quote = text.indexOf('"', at);
    if (quote < 0) throw new Error(`line ${line}: a quoted field has no end`);
    value += text.slice(at, quote);
    const next = text[quote + 1];
    if (next !== '"') {
      if (next === undefined || next === separator || isLineEnd(next)) return { value, end: quote + 1 };
      throw new Error(`line ${line}: text follows the closing quote of a field`);
    }
    value += '"';
    at = quote + 2;
  }
};

/** The one that the first row has most of. */
const separatorOf = (text: string): string => {
  const [head = ''] = text.split(/\r?\n/, 1);
  const count = (separator: string): number => head.split(separator).length;
  return [';', '\t'].reduce((best, each) => (count(each) > count(best) ? each : best), ',');
};
