{{/* Labels that select the pods of a role: call with (dict "root" $ "role" "gateway"). */}}
{{- define "orderpass.selector" -}}
app.kubernetes.io/name: orderpass
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "orderpass.labels" -}}
{{ include "orderpass.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "orderpass.name" -}}
{{ printf "%s-%s" (.root.Release.Name | trunc 50 | trimSuffix "-") .role }}
{{- end }}

{{- define "orderpass.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* Labels of the pods of a role. Those of the chart win, because selectors name them. Quoted, since a name may be a number. */}}
{{- define "orderpass.podLabels" -}}
{{ merge (dict) (include "orderpass.labels" . | fromYaml) .root.Values.podLabels | toYaml }}
{{- end }}

{{/* Where the pods run, those of the migration too. */}}
{{- define "orderpass.placement" -}}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The program needs no right, no user but its own, and no disk but its volumes. */}}
{{- define "orderpass.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "orderpass.container" -}}
image: {{ include "orderpass.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* Settings as a list of names and values, in one order. */}}
{{- define "orderpass.env" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "orderpass.hasAuthorities" -}}
{{- with .Values.authorities }}
{{- if or .secret .configMap }}true{{ end }}
{{- if and .trusted (not (and (or .secret .configMap) (has .trusted .keys))) }}
{{- fail "authorities.trusted must be one of authorities.keys, of a Secret or ConfigMap that authorities names" }}
{{- end }}
{{- end }}
{{- end }}

{{/* Private authorities, in every pod and in the job. */}}
{{- define "orderpass.authorities" -}}
{{- with .Values.authorities -}}
- name: authorities
  {{- if .secret }}
  secret:
    secretName: {{ .secret }}
    defaultMode: 0440
  {{- else }}
  configMap:
    name: {{ .configMap }}
  {{- end }}
    items:
      {{- range .keys }}
      - { key: {{ . }}, path: {{ . }} }
      {{- end }}
{{- end }}
{{- end }}
