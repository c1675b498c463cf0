/** The bill of materials of the image (CycloneDX 1.5): what `npm sbom` lists, with Node and the packages of Debian. */
import type { ImageParts } from './root-file-system.ts';

type Component = { type: string; name: string; version: string; purl: string; 'bom-ref': string };

const component = (type: string, name: string, version: string, purl: string): Component => ({
  type,
  name,
  version,
  purl,
  'bom-ref': purl,
});

/** Without a serial number, and with the time of the sources, so that equal images have equal bills. */
export const billOfMaterials = (
  { version, node, debian, packages }: ImageParts,
  epochSeconds: number,
): Record<string, unknown> => {
  const {
    serialNumber: _,
    metadata,
    components,
    ...rest
  } = packages as {
    serialNumber: unknown;
    metadata: { component: object };
    components: object[];
  };
  const system = debian.packages.map(({ name, version: own, architecture }) => {
    const qualifiers = `arch=${architecture}&distro=debian-${debian.release}`;
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(own)}?${qualifiers}`;
    return component('library', name, own, purl);
  });
  return {
    ...rest,
    metadata: {
      ...metadata,
      timestamp: new Date(epochSeconds * 1000).toISOString(),
      component: { ...metadata.component, type: 'container', name: 'orderpass', version },
    },
    components: [
      component('operating-system', 'debian', debian.release, `pkg:generic/debian@${debian.release}`),
      ...system,
      component('application', 'node', node, `pkg:generic/node@${node}`),
      ...components,
    ],
  };
};
