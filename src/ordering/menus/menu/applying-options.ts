/** Which options a product has (interface 10.3 inherits_options): those of its category first, then its own. */
import type { Option, Product } from './menu.ts';

/** The members that decide. `copied_options`: what a copying product took from its category when it was created. */
export type OptionSources = Pick<Product, 'inherits_options' | 'options'> & {
  copied_options: readonly Option[] | null;
};

/** Without removed options and values, each group by position, ties by uid. */
export const applyingOptions = (product: OptionSources, ofCategory: readonly Option[]): Option[] => [
  ...aliveOptions(inheritedOptions(product, ofCategory)),
  ...aliveOptions(product.options),
];

/** Includes removed options. */
export const inheritedOptions = (
  product: Pick<OptionSources, 'inherits_options' | 'copied_options'>,
  ofCategory: readonly Option[],
): readonly Option[] => {
  if (product.inherits_options === 'sync') return ofCategory;
  return product.inherits_options === 'copy' ? (product.copied_options ?? []) : [];
};

/** Without removed options and values, by position, ties by uid. */
export const aliveOptions = (options: readonly Option[]): Option[] =>
  alive(options).map((option) => ({ ...option, option_values: alive(option.option_values) }));

const alive = <T extends { uid: string; position: number; removed?: true }>(elements: readonly T[]): T[] =>
  elements
    .filter((element) => element.removed !== true)
    .sort((a, b) => a.position - b.position || (a.uid < b.uid ? -1 : 1));
