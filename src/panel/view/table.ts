/** A table that becomes a list of cards on a phone. */
import { type Html, type HtmlValue, html } from '../page/html.ts';

type Column =
  | string
  | {
      title: string;
      /** `number` aligns the cells to the right; `action` has buttons, and a header for screen readers only. */
      kind: 'number' | 'action';
    };

type Table = {
  caption?: string;
  /** The caption is for screen readers only. */
  isCaptionHidden?: boolean;
  columns: readonly Column[];
  rows: readonly (readonly HtmlValue[])[];
  /** False where the first cell does not name the row. Default true. */
  hasRowHeader?: boolean;
  /** Rows with their time: a heading row begins each day. The script of every page moves the headings to the reader's days. */
  dayOf?: (row: number) => Date | undefined;
  /** False keeps the table a table on a phone. Default true. */
  isStacked?: boolean;
};

export const table = ({
  caption,
  isCaptionHidden,
  columns,
  rows,
  hasRowHeader = true,
  isStacked = true,
  dayOf,
}: Table): Html =>
  html`<table${isStacked && html` class="stack"`}>${
    caption !== undefined &&
    html`<caption${isCaptionHidden === true && html` class="visually-hidden"`}>${caption}</caption>`
  }
<thead><tr>${columns.map(headerOf)}</tr></thead>
<tbody${dayOf && html` data-days`}>${rows.map(
    (cells, row) =>
      html`${dayOf && dayHeading(dayOf(row), row === 0 ? undefined : dayOf(row - 1), columns.length)}<tr>${cells.map(
        (cell, index) =>
          index === 0 && hasRowHeader ? html`<th scope="row">${cell}</th>` : cellOf(columns[index] ?? '', cell),
      )}</tr>\n`,
  )}</tbody></table>`;

/** Nothing when the row before is of the same day. */
const dayHeading = (at: Date | undefined, before: Date | undefined, span: number): Html | false => {
  const day = at?.toISOString().slice(0, 10);
  if (day === undefined || day === before?.toISOString().slice(0, 10)) return false;
  return html`<tr class="day" data-day><th scope="rowgroup" colspan="${span}" data-day-text>${day} UTC</th></tr>\n`;
};

const headerOf = (column: Column): Html => {
  if (typeof column === 'string') return html`<th scope="col">${column}</th>`;
  if (column.kind === 'number') return html`<th scope="col" class="number">${column.title}</th>`;
  return html`<th scope="col"><span class="visually-hidden">${column.title}</span></th>`;
};

/** A dash stands for nothing. Cards on a phone leave it out. */
const cellOf = (column: Column, cell: HtmlValue): Html => {
  const none = cell === '–';
  if (typeof column === 'string') return html`<td data-label="${column}"${none && html` class="none"`}>${cell}</td>`;
  if (column.kind === 'number')
    return html`<td class="number${none && ' none'}" data-label="${column.title}">${cell}</td>`;
  return html`<td>${cell}</td>`;
};
