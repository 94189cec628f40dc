module toymember

go 1.21
