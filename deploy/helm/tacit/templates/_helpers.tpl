{{- define "tacit.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- define "tacit.labels" -}}
app.kubernetes.io/name: tacit
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ .Values.kind }}
{{- end }}
