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
}: Table): Html =>
  html`<table${isStacked && html` class="stack"`}>${
    caption !== undefined &&
    html`<caption${isCaptionHidden === true && html` class="visually-hidden"`}>${caption}</caption>`
  }
<thead><tr>${columns.map(headerOf)}</tr></thead>
<tbody>${rows.map(
    (cells) =>
      html`<tr>${cells.map((cell, index) =>
        index === 0 && hasRowHeader ? html`<th scope="row">${cell}</th>` : cellOf(columns[index] ?? '', cell),
      )}</tr>\n`,
  )}</tbody></table>`;

const headerOf = (column: Column): Html => {
  if (typeof column === 'string') return html`<th scope="col">${column}</th>`;
  if (column.kind === 'number') return html`<th scope="col" class="number">${column.title}</th>`;
  return html`<th scope="col"><span class="visually-hidden">${column.title}</span></th>`;
};

const cellOf = (column: Column, cell: HtmlValue): Html => {
  if (typeof column === 'string') return html`<td data-label="${column}">${cell}</td>`;
  if (column.kind === 'number') return html`<td class="number" data-label="${column.title}">${cell}</td>`;
  return html`<td>${cell}</td>`;
};
