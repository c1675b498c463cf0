/** CSV as spreadsheets write it, by csv-parse: with comma, semicolon or tab, whatever the line ends. */
import { CsvError, parse } from 'csv-parse/sync';

export type CsvRow = {
  /** Line of the file on which it begins, from 1. */
  line: number;
  /** By the names of the first row; empty fields are left out. */
  fields: Readonly<Record<string, string>>;
};

export type Csv = { columns: string[]; rows: CsvRow[] };

/**
 * Values stay text, so numbers keep all their digits. Throws for a quoted field without an end or with text after its
 * closing quote, for a row with more fields than columns, and for two columns with one name.
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

/** A record of csv-parse with the option `raw`, which its types leave out. */
type WithRaw = { record: string[]; raw: string };

const splitRows = (text: string): RawRow[] => {
  const rows: RawRow[] = [];
  let line = 1;
  try {
    parse(text, {
      delimiter: separatorOf(text),
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      // A quote inside an unquoted field, as in `12" pizza`, is a character like any other.
      relax_quotes: true,
      raw: true,
      on_record: (each: unknown) => {
        const { record: fields, raw } = each as WithRaw;
        if (fields.some((field) => isBroken(field, raw)))
          throw new Error(`line ${line}: text follows the closing quote of a field`);
        rows.push({ line, fields });
        line += raw.match(/\r\n|\n|\r/g)?.length ?? 0;
        return null;
      },
    });
  } catch (error) {
    if (error instanceof CsvError && error.code === 'CSV_QUOTE_NOT_CLOSED')
      throw new Error(`line ${line}: a quoted field has no end`);
    throw error;
  }
  return rows;
};

/** With relax_quotes csv-parse returns `"a"b` unchanged. A field that is rightly quoted stands in the row in its quotes. */
const isBroken = (field: string, raw: string): boolean =>
  field.startsWith('"') && !raw.includes(`"${field.replaceAll('"', '""')}"`);

/** The separator that is most frequent in the first row. */
const separatorOf = (text: string): string => {
  const [head = ''] = text.split(/\r?\n/, 1);
  const count = (separator: string): number => head.split(separator).length;
  return [';', '\t'].reduce((best, each) => (count(each) > count(best) ? each : best), ',');
};
