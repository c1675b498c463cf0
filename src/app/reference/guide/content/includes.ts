/** Parts of pages that are made from the program: `{{name}}` on a line of its own. */

export type Includes = Readonly<Record<string, () => string>>;

export const expandIncludes = (markdown: string, includes: Includes): string =>
  markdown.replaceAll(/^\{\{([a-z-]+)\}\}$/gm, (_line, name: string) => {
    const include = includes[name];
    if (include === undefined) throw new Error(`A page of the guide includes {{${name}}}, which does not exist`);
    return include().trimEnd();
  });
