/** The button that copies the text of an element. */
import { type Html, html } from '../page/html.ts';
import type { Texts } from '../texts/en/en.ts';

/** `id`: of the element; `label`: what is copied, for pages that have several of these buttons. */
export const copyButton = ({ texts }: { texts: Texts }, id: string, label?: string): Html =>
  html`<button type="button" data-copy="${id}"${label !== undefined && html` aria-label="${texts.frame.copyOf(label)}"`}>${texts.frame.copy}</button>`;
